#ifndef CFERRY_NGHTTP2_SHIM_H
#define CFERRY_NGHTTP2_SHIM_H

#if !__has_include(<nghttp2/nghttp2.h>)
#error "libnghttp2's headers are missing: install libnghttp2-dev"
#endif

#include <nghttp2/nghttp2.h>

#endif
