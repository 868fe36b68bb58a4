// Linked into a portable build: the functions that glibc 2.17 does not have yet, and the start of the OpenSSL inside.
//
// Compat/packages/build names each symbol of this file, and ends if one is missing.
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

// From OpenSSL's crypto.h, which is not there when this file is compiled. The flags are part of OpenSSL's ABI.
#define OPENSSL_INIT_NO_LOAD_CONFIG 0x00000080L
#define OPENSSL_INIT_NO_ATEXIT 0x00080000L
int OPENSSL_init_crypto(uint64_t options, const void *settings);

// Comes before every other call of OpenSSL.
//
// NO_LOAD_CONFIG: the host's openssl.cnf was written for the host's OpenSSL. It may include policies of another version, or
// activate a FIPS module that is not inside.
// NO_ATEXIT: `exit` of the host would otherwise free OpenSSL's memory while libferry's threads use it.
HIDDEN __attribute__((constructor)) void ferry_start_openssl(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
}

// glibc 2.32. 0: libstdc++ always counts references with atomic instructions.
HIDDEN char __libc_single_threaded = 0;

// glibc 2.28.
HIDDEN int renameat2(int from, const char *old, int to, const char *new, unsigned int flags) {
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

// Kernels before 3.17 have no system call for random bytes.
static int read_urandom(unsigned char *bytes, size_t count) {
    int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    while (count > 0) {
        ssize_t got = read(file, bytes, count);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        bytes += got;
        count -= (size_t)got;
    }
    close(file);
    if (count > 0) errno = EIO;
    return count > 0 ? -1 : 0;
}

// glibc 2.25.
HIDDEN int getentropy(void *buffer, size_t count) {
    unsigned char *bytes = buffer;
    if (count > 256) {
        errno = EIO;
        return -1;
    }
    while (count > 0) {
        long got = syscall(SYS_getrandom, bytes, count, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == ENOSYS) return read_urandom(bytes, count);
        if (got < 0) return -1;
        bytes += got;
        count -= (size_t)got;
    }
    return 0;
}

// glibc 2.36. It cannot fail.
HIDDEN uint32_t arc4random(void) {
    uint32_t number;
    if (getentropy(&number, sizeof number) != 0) abort();
    return number;
}
