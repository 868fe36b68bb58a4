#ifndef CFERRY_OPENSSL_SHIM_H
#define CFERRY_OPENSSL_SHIM_H

#if !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: install libssl-dev"
#endif

#include <openssl/ssl.h>

#endif
