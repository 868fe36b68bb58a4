/* A library for LD_PRELOAD that makes the disk under a gateway slow, silent or full, while a file in the folder
   FERRY_DISK exists:

     hold   writes to the store do not return
     slow   the next write to the store's mark, one for each commit, takes 1.3 s; the file is removed
     full   writes to the store fail
     list   writes to the list of rejections fail
     unlocked   each lock of the store is granted, as on a shared disk without locks */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_on(const char *name, int removes)
{
    char path[512];
    const char *folder = getenv("FERRY_DISK");
    if (!folder) return 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return removes ? unlink(path) == 0 : access(path, F_OK) == 0;
}

/* Writes the path of a descriptor; it is empty if there is none. */
static void path_of(int descriptor, char path[512])
{
    char link[64];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, 511);
    path[length < 0 ? 0 : length] = 0;
}

/* Returns whether the write fails. */
static int meets(int descriptor)
{
    char path[512];
    int before = errno;
    path_of(descriptor, path);
    errno = before;
    if (strstr(path, "rejections.jsonl")) return is_on("list", 0);
    if (!strstr(path, "gateway.db")) return 0;
    while (is_on("hold", 0)) usleep(20000);
    if (strstr(path, "gateway.db-mark") && is_on("slow", 1)) usleep(1300000);
    errno = before;
    return is_on("full", 0);
}

static int no_space(void)
{
    errno = ENOSPC;
    return -1;
}

/* The function of the library that this one stands before. */
#define NEXT(function) \
    static __typeof__(function) *next; \
    if (!next) next = (__typeof__(function) *)dlsym(RTLD_NEXT, #function)

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset)
{
    NEXT(pwrite64);
    return meets(descriptor) ? no_space() : next(descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset)
{
    NEXT(pwrite);
    return meets(descriptor) ? no_space() : next(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
    NEXT(write);
    return meets(descriptor) ? no_space() : next(descriptor, bytes, count);
}

int fdatasync(int descriptor)
{
    NEXT(fdatasync);
    return meets(descriptor) ? no_space() : next(descriptor);
}

static int grants(int descriptor, int command)
{
    char path[512];
    if (command != F_SETLK && command != F_SETLKW) return 0;
    path_of(descriptor, path);
    return strstr(path, "gateway.db") && is_on("unlocked", 0);
}

/* Each command of fcntl has at most one argument, as large as a pointer. */
#define FCNTL(function) \
    int function(int descriptor, int command, ...) \
    { \
        va_list arguments; \
        void *argument; \
        NEXT(function); \
        va_start(arguments, command); \
        argument = va_arg(arguments, void *); \
        va_end(arguments); \
        return grants(descriptor, command) ? 0 : next(descriptor, command, argument); \
    }

FCNTL(fcntl)
FCNTL(fcntl64)
