#ifndef CFERRY_BUILD_SHIM_H
#define CFERRY_BUILD_SHIM_H

#include <stddef.h>

#ifdef __linux__
// The parts of a portable build, one a line. Compat/packages/sbom writes it, and only a portable build has it: the linker
// makes the address null elsewhere. If the declaration were hidden, gold would make it the program's first byte.
extern const char ferry_portable_parts[] __attribute__((weak));
#endif

// Returns NULL if this is no portable build.
static inline const char *CFerryBuild_portable_parts(void) {
#ifdef __linux__
    return ferry_portable_parts;
#else
    return NULL;
#endif
}

#if __has_include(<gnu/libc-version.h>)
#include <gnu/libc-version.h>
#endif

// Returns the version of the glibc that runs, or NULL where there is none.
static inline const char *CFerryBuild_glibc_version(void) {
#if __has_include(<gnu/libc-version.h>)
    return gnu_get_libc_version();
#else
    return NULL;
#endif
}

#endif
