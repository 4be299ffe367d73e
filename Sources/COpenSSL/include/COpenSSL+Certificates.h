#ifndef TOWLINE_COPENSSL_CERTIFICATES_H
#define TOWLINE_COPENSSL_CERTIFICATES_H

// Certificates, keys, lists of them, and what is said of them. Included by COpenSSL.h, which
// includes OpenSSL's own.

// Stacks are macros throughout.
static inline STACK_OF(X509) *towline_sk_X509_new_null(void) { return sk_X509_new_null(); }
static inline int towline_sk_X509_num(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *towline_sk_X509_value(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}
static inline int towline_sk_X509_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
// Frees the stack and leaves what is in it alone.
static inline void towline_sk_X509_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }
// Frees the stack and gives up one reference to each that is in it.
static inline void towline_sk_X509_pop_free(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}

static inline STACK_OF(X509_CRL) *towline_sk_X509_CRL_new_null(void) {
    return sk_X509_CRL_new_null();
}
static inline int towline_sk_X509_CRL_push(STACK_OF(X509_CRL) *stack, X509_CRL *list) {
    return sk_X509_CRL_push(stack, list);
}
static inline void towline_sk_X509_CRL_free(STACK_OF(X509_CRL) *stack) { sk_X509_CRL_free(stack); }

static inline STACK_OF(X509_NAME) *towline_sk_X509_NAME_new_null(void) {
    return sk_X509_NAME_new_null();
}
static inline int towline_sk_X509_NAME_num(const STACK_OF(X509_NAME) *stack) {
    return sk_X509_NAME_num(stack);
}
static inline X509_NAME *towline_sk_X509_NAME_value(const STACK_OF(X509_NAME) *stack, int index) {
    return sk_X509_NAME_value(stack, index);
}
static inline int towline_sk_X509_NAME_push(STACK_OF(X509_NAME) *stack, X509_NAME *name) {
    return sk_X509_NAME_push(stack, name);
}
static inline void towline_sk_X509_NAME_pop_free(STACK_OF(X509_NAME) *stack) {
    sk_X509_NAME_pop_free(stack, X509_NAME_free);
}

static inline int towline_sk_GENERAL_NAME_num(const GENERAL_NAMES *names) {
    return sk_GENERAL_NAME_num(names);
}
static inline GENERAL_NAME *towline_sk_GENERAL_NAME_value(const GENERAL_NAMES *names, int index) {
    return sk_GENERAL_NAME_value(names, index);
}
static inline GENERAL_NAMES *towline_X509_subject_alternative_names(const X509 *certificate) {
    return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}

static inline int towline_sk_X509_OBJECT_num(const STACK_OF(X509_OBJECT) *stack) {
    return sk_X509_OBJECT_num(stack);
}
static inline X509_OBJECT *towline_sk_X509_OBJECT_value(const STACK_OF(X509_OBJECT) *stack,
                                                        int index) {
    return sk_X509_OBJECT_value(stack, index);
}

static inline int towline_sk_SSL_CIPHER_num(const STACK_OF(SSL_CIPHER) *stack) {
    return sk_SSL_CIPHER_num(stack);
}
static inline const SSL_CIPHER *towline_sk_SSL_CIPHER_value(const STACK_OF(SSL_CIPHER) *stack,
                                                            int index) {
    return sk_SSL_CIPHER_value(stack, index);
}

// The features that a certificate demands of the handshake: whether it is `feature`, as by
// RFC 7633; -1 where the extension is there and cannot be read.
static inline int towline_X509_demands(const X509 *certificate, long feature) {
    int critical = 0;
    TLS_FEATURE *features = X509_get_ext_d2i(certificate, NID_tlsfeature, &critical, NULL);
    if (features == NULL) return critical == -1 ? 0 : -1;
    int found = 0;
    for (int index = 0; index < sk_ASN1_INTEGER_num(features) && !found; index++) {
        found = ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, index)) == feature;
    }
    sk_ASN1_INTEGER_pop_free(features, ASN1_INTEGER_free);
    return found;
}
static const long towline_TLSEXT_TYPE_status_request = TLSEXT_TYPE_status_request;

// The reason code of an entry of a revocation list, as by RFC 5280, 5.3.1; -1 without one.
static inline int towline_X509_REVOKED_reason(const X509_REVOKED *entry) {
    ASN1_ENUMERATED *reason = X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, NULL, NULL);
    if (reason == NULL) return -1;
    long value = ASN1_ENUMERATED_get(reason);
    ASN1_ENUMERATED_free(reason);
    return value < 0 || value > 10 ? -1 : (int)value;
}

// Seconds since 1970; false if the time cannot be read.
static inline int towline_ASN1_TIME_seconds(const ASN1_TIME *time, int64_t *seconds) {
    struct tm parts;
    if (time == NULL || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
    *seconds = (int64_t)timegm(&parts);
    return 1;
}

static inline unsigned char *towline_ASN1_STRING_bytes(ASN1_STRING *string) {
    return (unsigned char *)ASN1_STRING_get0_data(string);
}

// How names are printed.
static const unsigned long towline_XN_FLAG_RFC2253 = XN_FLAG_RFC2253;
static const unsigned long towline_XN_FLAG_ONELINE = XN_FLAG_ONELINE;
static const unsigned long towline_XN_FLAG_SPC_EQ = XN_FLAG_SPC_EQ;
static const unsigned long towline_ASN1_STRFLGS_ESC_MSB = ASN1_STRFLGS_ESC_MSB;

// What a verification looks at.
static const unsigned long towline_X509_V_FLAG_CRL_CHECK = X509_V_FLAG_CRL_CHECK;
static const unsigned long towline_X509_V_FLAG_CRL_CHECK_ALL = X509_V_FLAG_CRL_CHECK_ALL;
static const unsigned long towline_X509_V_FLAG_PARTIAL_CHAIN = X509_V_FLAG_PARTIAL_CHAIN;
static const unsigned long towline_X509_V_FLAG_TRUSTED_FIRST = X509_V_FLAG_TRUSTED_FIRST;
static const unsigned int towline_X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS =
    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
static const unsigned int towline_X509_CHECK_FLAG_NEVER_CHECK_SUBJECT =
    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
static inline void towline_X509_STORE_CTX_set_untrusted(X509_STORE_CTX *context,
                                                        STACK_OF(X509) *stack) {
    X509_STORE_CTX_set0_untrusted(context, stack);
}

// OCSP.
static inline OCSP_RESPONSE *towline_d2i_OCSP_RESPONSE(const unsigned char **bytes, long count) {
    return d2i_OCSP_RESPONSE(NULL, bytes, count);
}
static inline int towline_i2d_OCSP_CERTID(OCSP_CERTID *identifier, unsigned char **bytes) {
    return i2d_OCSP_CERTID(identifier, bytes);
}

// Keys.
static inline EVP_PKEY *towline_EVP_generate_ec(const char *curve) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve);
}

#endif
