#ifndef TOWLINE_COPENSSL_SECRETS_H
#define TOWLINE_COPENSSL_SECRETS_H

// Keys of tickets and of records. Included by COpenSSL.h, which includes OpenSSL's own.

static inline int towline_SSL_CTX_set_dh_auto(SSL_CTX *context, int isOn) {
    return (int)SSL_CTX_set_dh_auto(context, isOn);
}

// Sets a ticket's cipher and signature up: AES-256 in CBC mode, and SHA-256.
static inline int towline_ticket_init(EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                                      const unsigned char *cipherKey, const unsigned char *macKey,
                                      const unsigned char *iv, int encrypts) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)macKey, 32),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    if (EVP_MAC_CTX_set_params(mac, parameters) != 1) return 0;
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, cipherKey, iv, encrypts);
}

// HKDF-Expand-Label of RFC 8446, section 7.1, with an empty context.
static inline int towline_expand_label(const EVP_MD *hash, const unsigned char *secret,
                                       size_t secretCount, const char *label,
                                       unsigned char *result, size_t resultCount) {
    unsigned char info[64];
    size_t labelCount = strlen(label), count = 0;
    if (labelCount > 32) return 0;
    info[count++] = (unsigned char)(resultCount >> 8);
    info[count++] = (unsigned char)resultCount;
    info[count++] = (unsigned char)(6 + labelCount);
    memcpy(info + count, "tls13 ", 6);
    count += 6;
    memcpy(info + count, label, labelCount);
    count += labelCount;
    info[count++] = 0;
    int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)EVP_MD_get0_name(hash), 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secretCount),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, count),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *kind = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *derivation = kind == NULL ? NULL : EVP_KDF_CTX_new(kind);
    int worked = derivation != NULL &&
                 EVP_KDF_derive(derivation, result, resultCount, parameters) == 1;
    EVP_KDF_CTX_free(derivation);
    EVP_KDF_free(kind);
    return worked;
}

// Makes a fatal alert into the first record that a traffic secret of TLS 1.3 encrypts: 24 bytes.
//
// Source: RFC 8446, section 5.2.
static inline int towline_seal_first_alert(const EVP_CIPHER *cipher, const EVP_MD *hash,
                                           const unsigned char *secret, size_t secretCount,
                                           unsigned char alert, unsigned char record[24]) {
    unsigned char key[EVP_MAX_KEY_LENGTH], iv[12];
    const unsigned char header[5] = {23, 3, 3, 0, 19}, inner[3] = {2, alert, 21};
    if (cipher == NULL || hash == NULL) return 0;
    size_t keyCount = (size_t)EVP_CIPHER_get_key_length(cipher);
    memcpy(record, header, 5);
    int count = 0;
    EVP_CIPHER_CTX *sealing = EVP_CIPHER_CTX_new();
    // The number of the first record is 0, so that its nonce is the vector itself.
    int worked =
        sealing != NULL &&
        towline_expand_label(hash, secret, secretCount, "key", key, keyCount) &&
        towline_expand_label(hash, secret, secretCount, "iv", iv, sizeof iv) &&
        EVP_EncryptInit_ex(sealing, cipher, NULL, key, iv) == 1 &&
        EVP_EncryptUpdate(sealing, NULL, &count, header, sizeof header) == 1 &&
        EVP_EncryptUpdate(sealing, record + 5, &count, inner, sizeof inner) == 1 && count == 3 &&
        EVP_EncryptFinal_ex(sealing, record + 8, &count) == 1 &&
        EVP_CIPHER_CTX_ctrl(sealing, EVP_CTRL_AEAD_GET_TAG, 16, record + 8) == 1;
    EVP_CIPHER_CTX_free(sealing);
    OPENSSL_cleanse(key, sizeof key);
    return worked;
}

#endif
