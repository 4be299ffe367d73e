#ifndef TOWLINE_CBROTLI_H
#define TOWLINE_CBROTLI_H

// Every build compiles this target, also those without the trait Brotli and without the library,
// for which it is empty.
#include <features.h>

#if __has_include(<brotli/decode.h>)
#include <brotli/decode.h>
#endif

// Tests encode; what is declared here and never called needs no library.
#if __has_include(<brotli/encode.h>)
#include <brotli/encode.h>
#endif

#endif
