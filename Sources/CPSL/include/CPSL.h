#ifndef CPSL_H
#define CPSL_H

#include <features.h>

// A plain build compiles this target, too, and need not have the library: it is behind a trait.
#if __has_include(<libpsl.h>)
#include <libpsl.h>
#endif

#endif
