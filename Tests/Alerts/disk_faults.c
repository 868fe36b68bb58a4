/* A library for LD_PRELOAD that makes the disk under a gateway slow, silent or full, while a file in the folder
   FERRY_DISK exists:

     hold   writes to the store do not return
     slow   the next write to the store's mark, one for each commit, takes 1.3 s; the file is removed
     full   writes to the store fail
     list   writes to the list of rejections fail */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
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

/* Returns whether the write fails. */
static int meets(int descriptor)
{
    char link[64], path[512];
    ssize_t length;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) length = 0;
    path[length] = 0;
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
