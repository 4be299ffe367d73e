#ifndef TOWLINE_COPENSSL_LIBRARY_H
#define TOWLINE_COPENSSL_LIBRARY_H

// Versions, memory, the error queue and BIOs. Included by COpenSSL.h, which includes OpenSSL's own.

static const unsigned long towline_OPENSSL_VERSION_NUMBER = OPENSSL_VERSION_NUMBER;

static inline void towline_OPENSSL_free(void *memory) { OPENSSL_free(memory); }
static inline void towline_OPENSSL_clear_free(void *memory, size_t count) {
    OPENSSL_clear_free(memory, count);
}
static inline void *towline_OPENSSL_malloc(size_t count) { return OPENSSL_malloc(count); }

// The error queue. ERR_GET_LIB and ERR_GET_REASON are inline functions of OpenSSL's, but know of
// system errors by a macro.
static inline int towline_ERR_GET_LIB(unsigned long code) { return ERR_GET_LIB(code); }
static inline int towline_ERR_GET_REASON(unsigned long code) { return ERR_GET_REASON(code); }
static inline void towline_ERR_raise(int library, int reason) { ERR_raise(library, reason); }
static inline int towline_ERR_SYSTEM_ERROR(unsigned long code) { return ERR_SYSTEM_ERROR(code); }

// BIOs.
static inline void towline_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void towline_BIO_set_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void towline_BIO_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }
static inline int towline_BIO_should_retry(BIO *bio) { return BIO_should_retry(bio); }
static inline int towline_BIO_should_read(BIO *bio) { return BIO_should_read(bio); }
static inline int towline_BIO_should_write(BIO *bio) { return BIO_should_write(bio); }
static inline int towline_BIO_flush(BIO *bio) { return (int)BIO_flush(bio); }
static inline int towline_BIO_pending(BIO *bio) { return (int)BIO_pending(bio); }
static inline int towline_BIO_wpending(BIO *bio) { return (int)BIO_wpending(bio); }
static inline int towline_BIO_eof(BIO *bio) { return (int)BIO_eof(bio); }
static inline int towline_BIO_reset(BIO *bio) { return (int)BIO_reset(bio); }
static inline long towline_BIO_get_mem_data(BIO *bio, char **bytes) {
    return BIO_get_mem_data(bio, bytes);
}
static inline long towline_BIO_set_mem_eof_return(BIO *bio, int value) {
    return BIO_set_mem_eof_return(bio, value);
}

#endif
