#ifndef TOWLINE_CZSTD_H
#define TOWLINE_CZSTD_H

// Every build compiles this target, also those without the trait Zstd and without the library, for
// which it is empty.
#include <features.h>

#if __has_include(<zstd.h>)
#include <zstd.h>
#include <zstd_errors.h>
#endif

#endif
