#include "CBareTLS.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

static bool add_extension(X509 *certificate, int kind, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    bool is_added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool fill(X509 *certificate, EVP_PKEY *key) {
    X509_NAME *name = X509_get_subject_name(certificate);
    const unsigned char text[] = "localhost";
    enum { version_3 = 2, seconds_of_a_day = 86400 };
    return X509_set_version(certificate, version_3) == 1 &&
           ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -60) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), seconds_of_a_day) != NULL &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1 &&
           X509_set_pubkey(certificate, key) == 1 &&
           add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE") &&
           add_extension(certificate, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1") &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

// Copies what the BIO holds, with a zero byte behind.
static bool take(BIO *bio, char text[benchmark_pem_size]) {
    char *bytes = NULL;
    long count = BIO_get_mem_data(bio, &bytes);
    if (count <= 0 || count >= benchmark_pem_size)
        return false;
    memcpy(text, bytes, (size_t)count);
    text[count] = 0;
    return true;
}

bool benchmark_make_certificate(char certificate[benchmark_pem_size],
                                char key[benchmark_pem_size]) {
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *made = X509_new();
    BIO *certificate_bio = BIO_new(BIO_s_mem());
    BIO *key_bio = BIO_new(BIO_s_mem());
    bool is_made = pair != NULL && made != NULL && certificate_bio != NULL && key_bio != NULL &&
                   fill(made, pair) && PEM_write_bio_X509(certificate_bio, made) == 1 &&
                   PEM_write_bio_PrivateKey(key_bio, pair, NULL, NULL, 0, NULL, NULL) == 1 &&
                   take(certificate_bio, certificate) && take(key_bio, key);
    BIO_free(key_bio);
    BIO_free(certificate_bio);
    X509_free(made);
    EVP_PKEY_free(pair);
    return is_made;
}
