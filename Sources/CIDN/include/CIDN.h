#ifndef CIDN_H
#define CIDN_H

#include <features.h>

// A plain build compiles this target, too, and need not have the library: it is behind a trait.
#if __has_include(<idn2.h>)
#include <idn2.h>

// The lookup form of a name in UTF-8, in ASCII; to be freed with idn2_free. IDN2_OK if there is one.
static inline int towline_idn_ascii(const char *name, char **ascii, int transitional) {
    int way = transitional ? IDN2_TRANSITIONAL : IDN2_NONTRANSITIONAL;
    return idn2_to_ascii_8z(name, ascii, IDN2_NFC_INPUT | way);
}

static inline int towline_idn_is_ok(int result) { return result == IDN2_OK; }
#endif

#endif
