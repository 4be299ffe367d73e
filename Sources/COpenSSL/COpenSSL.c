#include "COpenSSL.h"

// 3.0.2 is the first whose clients can pause a handshake for a question of trust
// (SSL_set_retry_verify).
#if OPENSSL_VERSION_NUMBER < 0x30000020L
#error "OpenSSL 3.0.2 or newer is needed"
#endif

// What the inline functions take for granted.
_Static_assert(sizeof(time_t) == 8, "dates behind 2038 have to fit");
