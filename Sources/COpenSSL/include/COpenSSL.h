#ifndef TOWLINE_COPENSSL_H
#define TOWLINE_COPENSSL_H

// OpenSSL 3.0.2 and newer, and an inline function for each macro of it that Swift cannot see. Each
// is called as OpenSSL calls it, with `towline_` in front.
//
// <features.h> comes first and _GNU_SOURCE is never defined here: with it this module and Glibc
// would disagree about types of the system, and a program that imports both would not build.
#include <features.h>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/ocsp.h>
#include <openssl/opensslv.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "COpenSSL+Certificates.h"
#include "COpenSSL+Library.h"
#include "COpenSSL+Secrets.h"
#include "COpenSSL+Sessions.h"

#endif
