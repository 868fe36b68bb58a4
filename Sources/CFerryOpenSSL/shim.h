#ifndef CFERRY_OPENSSL_SHIM_H
#define CFERRY_OPENSSL_SHIM_H

#if !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: install libssl-dev"
#endif

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Swift imports functions but not function-like macros, casts or variadic functions: only those are wrapped here.

static inline long CFerryOpenSSL_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

static inline int CFerryOpenSSL_SSL_CTX_set_protocol_range(SSL_CTX *context, int minimum, int maximum) {
    return SSL_CTX_set_min_proto_version(context, minimum) == 1 && SSL_CTX_set_max_proto_version(context, maximum) == 1;
}

// 0: no bound.
static inline int CFerryOpenSSL_SSL_CTX_minimum_protocol(SSL_CTX *context) {
    return (int)SSL_CTX_get_min_proto_version(context);
}

// 0: no bound.
static inline int CFerryOpenSSL_SSL_CTX_maximum_protocol(SSL_CTX *context) {
    return (int)SSL_CTX_get_max_proto_version(context);
}

// Without it, the callback and its argument would have to be cast to a function without parameters.
static inline void CFerryOpenSSL_SSL_CTX_set_server_name_callback(
    SSL_CTX *context, int (*callback)(SSL *, int *, void *), void *argument) {
    SSL_CTX_set_tlsext_servername_callback(context, callback);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}

static inline int CFerryOpenSSL_cipher_count(const SSL_CTX *context) {
    const STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(context);
    return ciphers == NULL ? 0 : sk_SSL_CIPHER_num(ciphers);
}

static inline const SSL_CIPHER *CFerryOpenSSL_cipher(const SSL_CTX *context, int index) {
    return sk_SSL_CIPHER_value(SSL_CTX_get_ciphers(context), index);
}

static inline void CFerryOpenSSL_SSL_CTX_disable_session_cache(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline uint64_t CFerryOpenSSL_options(void) {
    return SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE;
}

// Connects to servers that were written before secure renegotiation (RFC 5746).
static inline uint64_t CFerryOpenSSL_legacy_options(void) {
    return SSL_OP_LEGACY_SERVER_CONNECT;
}

static inline int CFerryOpenSSL_SSL_set_host_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, name) == 1;
}

static inline int CFerryOpenSSL_alert_number(int reason) {
    return reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256 ? reason - SSL_AD_REASON_OFFSET : -1;
}

static inline STACK_OF(X509) *CFerryOpenSSL_sk_X509_new(void) {
    return sk_X509_new_null();
}

static inline int CFerryOpenSSL_sk_X509_count(const STACK_OF(X509) *stack) {
    return stack == NULL ? 0 : sk_X509_num(stack);
}

static inline X509 *CFerryOpenSSL_sk_X509_value(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}

// Takes a reference of its own to the certificate.
static inline int CFerryOpenSSL_sk_X509_push(STACK_OF(X509) *stack, X509 *certificate) {
    return X509_add_cert(stack, certificate, X509_ADD_FLAG_UP_REF);
}

static inline void CFerryOpenSSL_sk_X509_free(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}

static inline int CFerryOpenSSL_sk_PKCS7_count(const STACK_OF(PKCS7) *stack) {
    return stack == NULL ? 0 : sk_PKCS7_num(stack);
}

static inline PKCS7 *CFerryOpenSSL_sk_PKCS7_value(const STACK_OF(PKCS7) *stack, int index) {
    return sk_PKCS7_value(stack, index);
}

static inline void CFerryOpenSSL_sk_PKCS7_free(STACK_OF(PKCS7) *stack) {
    sk_PKCS7_pop_free(stack, PKCS7_free);
}

static inline int CFerryOpenSSL_sk_SAFEBAG_count(const STACK_OF(PKCS12_SAFEBAG) *stack) {
    return stack == NULL ? 0 : sk_PKCS12_SAFEBAG_num(stack);
}

static inline PKCS12_SAFEBAG *CFerryOpenSSL_sk_SAFEBAG_value(const STACK_OF(PKCS12_SAFEBAG) *stack, int index) {
    return sk_PKCS12_SAFEBAG_value(stack, index);
}

static inline void CFerryOpenSSL_sk_SAFEBAG_free(STACK_OF(PKCS12_SAFEBAG) *stack) {
    sk_PKCS12_SAFEBAG_pop_free(stack, PKCS12_SAFEBAG_free);
}

// Whether a part of a PKCS#12 archive is one that CFerryOpenSSL_PKCS12_bags reads.
static inline int CFerryOpenSSL_PKCS12_hasBags(PKCS7 *part) {
    return PKCS7_type_is_data(part) || PKCS7_type_is_encrypted(part);
}

// The bags of one part of an archive, decrypted where it is encrypted; NULL when it is of another kind, or cannot be.
static inline STACK_OF(PKCS12_SAFEBAG) *CFerryOpenSSL_PKCS12_bags(PKCS7 *part, const char *passphrase, int length) {
    return PKCS7_type_is_data(part)        ? PKCS12_unpack_p7data(part)
           : PKCS7_type_is_encrypted(part) ? PKCS12_unpack_p7encdata(part, passphrase, length)
                                           : NULL;
}

// The first OCSP address that a certificate names; NULL without one. Free it with CFerryOpenSSL_free.
static inline char *CFerryOpenSSL_ocsp_address(X509 *certificate) {
    STACK_OF(OPENSSL_STRING) *addresses = X509_get1_ocsp(certificate);
    char *address = NULL;
    if (addresses != NULL && sk_OPENSSL_STRING_num(addresses) > 0) {
        address = OPENSSL_strdup(sk_OPENSSL_STRING_value(addresses, 0));
    }
    X509_email_free(addresses);
    return address;
}

// Whether no provider knows an algorithm.
static inline int CFerryOpenSSL_is_unsupported(int reason) {
    return reason == ERR_R_UNSUPPORTED;
}

// RFC 2253, with UTF-8 left as it is.
static inline int CFerryOpenSSL_print_name(BIO *bio, const X509_NAME *name) {
    return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0;
}

static inline EVP_PKEY *CFerryOpenSSL_generate_P256(void) {
    return EVP_EC_gen("P-256");
}

static inline EVP_PKEY *CFerryOpenSSL_generate_P384(void) {
    return EVP_EC_gen("P-384");
}

static inline EVP_PKEY *CFerryOpenSSL_generate_RSA(size_t bits) {
    return EVP_RSA_gen(bits);
}

static inline void CFerryOpenSSL_free(void *memory) {
    OPENSSL_free(memory);
}

#endif
