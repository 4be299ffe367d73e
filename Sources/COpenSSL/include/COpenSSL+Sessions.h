#ifndef TOWLINE_COPENSSL_SESSIONS_H
#define TOWLINE_COPENSSL_SESSIONS_H

// Contexts and sessions. Included by COpenSSL.h, which includes OpenSSL's own.

// Options and modes.
static const uint64_t towline_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t towline_SSL_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t towline_SSL_OP_NO_TICKET = SSL_OP_NO_TICKET;
static const uint64_t towline_SSL_OP_NO_ANTI_REPLAY = SSL_OP_NO_ANTI_REPLAY;
static const uint64_t towline_SSL_OP_CIPHER_SERVER_PREFERENCE = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const uint64_t towline_SSL_OP_PRIORITIZE_CHACHA = SSL_OP_PRIORITIZE_CHACHA;
static const uint64_t towline_SSL_OP_IGNORE_UNEXPECTED_EOF = SSL_OP_IGNORE_UNEXPECTED_EOF;
static const uint64_t towline_SSL_OP_ENABLE_MIDDLEBOX_COMPAT = SSL_OP_ENABLE_MIDDLEBOX_COMPAT;
static const uint64_t towline_SSL_OP_NO_TLSv1_2 = SSL_OP_NO_TLSv1_2;
static const uint64_t towline_SSL_OP_NO_TLSv1_3 = SSL_OP_NO_TLSv1_3;
static const uint64_t towline_SSL_OP_ALL = SSL_OP_ALL;

static inline long towline_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}
static inline long towline_SSL_CTX_clear_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_clear_mode(context, mode);
}
static inline long towline_SSL_CTX_get_mode(SSL_CTX *context) { return SSL_CTX_get_mode(context); }
static inline long towline_SSL_get_mode(SSL *session) { return SSL_get_mode(session); }
static inline long towline_SSL_set_mode(SSL *session, long mode) {
    return SSL_set_mode(session, mode);
}
static inline long towline_SSL_clear_mode(SSL *session, long mode) {
    return SSL_clear_mode(session, mode);
}
static const long towline_SSL_MODE_ENABLE_PARTIAL_WRITE = SSL_MODE_ENABLE_PARTIAL_WRITE;
static const long towline_SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER =
    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;
static const long towline_SSL_MODE_AUTO_RETRY = SSL_MODE_AUTO_RETRY;
static const long towline_SSL_MODE_RELEASE_BUFFERS = SSL_MODE_RELEASE_BUFFERS;
static const long towline_SSL_MODE_NO_AUTO_CHAIN = SSL_MODE_NO_AUTO_CHAIN;

// Versions.
static inline int towline_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline int towline_SSL_CTX_set_max_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_max_proto_version(context, version);
}
static inline int towline_SSL_CTX_get_min_proto_version(SSL_CTX *context) {
    return (int)SSL_CTX_get_min_proto_version(context);
}
static inline int towline_SSL_CTX_get_max_proto_version(SSL_CTX *context) {
    return (int)SSL_CTX_get_max_proto_version(context);
}
static inline int towline_SSL_set_min_proto_version(SSL *session, int version) {
    return (int)SSL_set_min_proto_version(session, version);
}
static inline int towline_SSL_set_max_proto_version(SSL *session, int version) {
    return (int)SSL_set_max_proto_version(session, version);
}
static inline int towline_SSL_get_min_proto_version(SSL *session) {
    return (int)SSL_get_min_proto_version(session);
}
static inline int towline_SSL_get_max_proto_version(SSL *session) {
    return (int)SSL_get_max_proto_version(session);
}

// Server names.
static inline int towline_SSL_set_tlsext_host_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}
static inline long towline_SSL_CTX_set_tlsext_servername_callback(
    SSL_CTX *context, int (*callback)(SSL *, int *, void *)) {
    return SSL_CTX_set_tlsext_servername_callback(context, callback);
}
static inline long towline_SSL_CTX_set_tlsext_servername_arg(SSL_CTX *context, void *argument) {
    return SSL_CTX_set_tlsext_servername_arg(context, argument);
}

// Stapled responses.
static inline long towline_SSL_set_tlsext_status_type(SSL *session, int type) {
    return SSL_set_tlsext_status_type(session, type);
}
static inline long towline_SSL_get_tlsext_status_type(SSL *session) {
    return SSL_get_tlsext_status_type(session);
}
static inline long towline_SSL_get_tlsext_status_ocsp_resp(SSL *session,
                                                           const unsigned char **bytes) {
    return SSL_get_tlsext_status_ocsp_resp(session, bytes);
}
// The session owns the bytes from here on, which OPENSSL_malloc has made.
static inline long towline_SSL_set_tlsext_status_ocsp_resp(SSL *session, unsigned char *bytes,
                                                           long count) {
    return SSL_set_tlsext_status_ocsp_resp(session, bytes, count);
}
static inline long towline_SSL_CTX_set_tlsext_status_cb(SSL_CTX *context,
                                                        int (*callback)(SSL *, void *)) {
    return SSL_CTX_set_tlsext_status_cb(context, callback);
}
static inline long towline_SSL_CTX_set_tlsext_status_arg(SSL_CTX *context, void *argument) {
    return SSL_CTX_set_tlsext_status_arg(context, argument);
}
static const int towline_TLSEXT_STATUSTYPE_ocsp = TLSEXT_STATUSTYPE_ocsp;

// Tickets.
static inline int towline_SSL_CTX_set_tlsext_ticket_key_evp_cb(
    SSL_CTX *context, int (*callback)(SSL *, unsigned char *, unsigned char *, EVP_CIPHER_CTX *,
                                      EVP_MAC_CTX *, int)) {
    return SSL_CTX_set_tlsext_ticket_key_evp_cb(context, callback);
}

// Chains and stores.
static inline int towline_SSL_CTX_set1_chain(SSL_CTX *context, STACK_OF(X509) *chain) {
    return (int)SSL_CTX_set1_chain(context, chain);
}
static inline int towline_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int towline_SSL_set1_chain(SSL *session, STACK_OF(X509) *chain) {
    return (int)SSL_set1_chain(session, chain);
}
static inline int towline_SSL_CTX_clear_chain_certs(SSL_CTX *context) {
    return (int)SSL_CTX_clear_chain_certs(context);
}
static inline int towline_SSL_clear_chain_certs(SSL *session) {
    return (int)SSL_clear_chain_certs(session);
}
static inline int towline_SSL_CTX_set1_verify_cert_store(SSL_CTX *context, X509_STORE *store) {
    return (int)SSL_CTX_set1_verify_cert_store(context, store);
}
static inline int towline_SSL_CTX_set1_chain_cert_store(SSL_CTX *context, X509_STORE *store) {
    return (int)SSL_CTX_set1_chain_cert_store(context, store);
}
static inline int towline_SSL_set1_verify_cert_store(SSL *session, X509_STORE *store) {
    return (int)SSL_set1_verify_cert_store(session, store);
}
static inline int towline_SSL_set1_chain_cert_store(SSL *session, X509_STORE *store) {
    return (int)SSL_set1_chain_cert_store(session, store);
}

// Groups and signature algorithms.
static inline int towline_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *names) {
    return (int)SSL_CTX_set1_groups_list(context, names);
}
static inline int towline_SSL_set1_groups_list(SSL *session, const char *names) {
    return (int)SSL_set1_groups_list(session, names);
}
static inline int towline_SSL_get_negotiated_group(SSL *session) {
    return (int)SSL_get_negotiated_group(session);
}
static inline int towline_SSL_CTX_set1_sigalgs_list(SSL_CTX *context, const char *names) {
    return (int)SSL_CTX_set1_sigalgs_list(context, names);
}

// Caches of sessions.
static inline long towline_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}
static const long towline_SSL_SESS_CACHE_OFF = SSL_SESS_CACHE_OFF;
static const long towline_SSL_SESS_CACHE_CLIENT = SSL_SESS_CACHE_CLIENT;
static const long towline_SSL_SESS_CACHE_SERVER = SSL_SESS_CACHE_SERVER;
static const long towline_SSL_SESS_CACHE_NO_INTERNAL = SSL_SESS_CACHE_NO_INTERNAL;
static const long towline_SSL_SESS_CACHE_NO_INTERNAL_STORE = SSL_SESS_CACHE_NO_INTERNAL_STORE;
static const long towline_SSL_SESS_CACHE_NO_AUTO_CLEAR = SSL_SESS_CACHE_NO_AUTO_CLEAR;
static inline long towline_SSL_CTX_sess_set_cache_size(SSL_CTX *context, long count) {
    return SSL_CTX_sess_set_cache_size(context, count);
}

// Sizes.
static inline int towline_SSL_CTX_set_read_ahead(SSL_CTX *context, int isOn) {
    return (int)SSL_CTX_set_read_ahead(context, isOn);
}
static inline int towline_SSL_CTX_set_max_send_fragment(SSL_CTX *context, long count) {
    return (int)SSL_CTX_set_max_send_fragment(context, count);
}
static inline int towline_SSL_set_max_send_fragment(SSL *session, long count) {
    return (int)SSL_set_max_send_fragment(session, count);
}
static inline int towline_SSL_set_split_send_fragment(SSL *session, long count) {
    return (int)SSL_set_split_send_fragment(session, count);
}
static inline long towline_SSL_CTX_set_max_cert_list(SSL_CTX *context, long count) {
    return SSL_CTX_set_max_cert_list(context, count);
}
static inline long towline_SSL_set_max_cert_list(SSL *session, long count) {
    return SSL_set_max_cert_list(session, count);
}

// Pauses.
static inline int towline_SSL_set_retry_verify(SSL *session) {
    return (int)SSL_set_retry_verify(session);
}
static inline int towline_SSL_want_read(const SSL *session) { return SSL_want_read(session); }
static inline int towline_SSL_want_write(const SSL *session) { return SSL_want_write(session); }
static inline int towline_SSL_want_x509_lookup(const SSL *session) {
    return SSL_want_x509_lookup(session);
}
static inline int towline_SSL_want_retry_verify(const SSL *session) {
    return SSL_want_retry_verify(session);
}
static inline int towline_SSL_want_client_hello_cb(const SSL *session) {
    return SSL_want_client_hello_cb(session);
}

// The peer, and what is kept beside a session.
static inline X509 *towline_SSL_get1_peer_certificate(const SSL *session) {
    return SSL_get1_peer_certificate(session);
}
static inline X509 *towline_SSL_get0_peer_certificate(const SSL *session) {
    return SSL_get0_peer_certificate(session);
}
static inline int towline_SSL_set_app_data(SSL *session, void *data) {
    return SSL_set_app_data(session, data);
}
static inline void *towline_SSL_get_app_data(const SSL *session) {
    return SSL_get_app_data(session);
}
static inline int towline_SSL_CTX_set_app_data(SSL_CTX *context, void *data) {
    return SSL_CTX_set_app_data(context, data);
}
static inline void *towline_SSL_CTX_get_app_data(const SSL_CTX *context) {
    return SSL_CTX_get_app_data(context);
}
static inline int towline_SSL_get_ex_new_index(void) {
    return SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}
static inline int towline_SSL_CTX_get_ex_new_index(void) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

#endif
