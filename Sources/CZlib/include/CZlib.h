#ifndef TOWLINE_CZLIB_H
#define TOWLINE_CZLIB_H

// zlib, with its macros as functions, and steps whose input is constant without ZLIB_CONST, which
// would make the same structure another one than in other modules that include zlib.
//
// <features.h> comes first and _GNU_SOURCE is never defined here: with it this module and Glibc
// would disagree about types of the system.
#include <features.h>

#include <stdint.h>
#include <zlib.h>

static inline int towline_inflateInit2(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

// The stream is left without pointers into either buffer; avail_in and avail_out say what is left.
static inline int towline_inflate(z_stream *stream, const uint8_t *input, uint32_t input_count,
                                  uint8_t *output, uint32_t output_count) {
    stream->next_in = (Bytef *)input;
    stream->avail_in = input_count;
    stream->next_out = output;
    stream->avail_out = output_count;
    int result = inflate(stream, Z_NO_FLUSH);
    stream->next_in = Z_NULL;
    stream->next_out = Z_NULL;
    return result;
}

static inline int towline_deflateInit2(z_stream *stream, int level, int window_bits,
                                       int memory_level, int strategy) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, memory_level, strategy);
}

#endif
