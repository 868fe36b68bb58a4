/* Sends COUNT notifications, from THREADS threads, through a provider of OPTIONS; checks that each tag has one outcome.
 *
 *   account OPTIONS COUNT THREADS
 *
 * Every 1000th device token begins with bad0. Prints "accepted rejected other"; exits 1 when a tag is missing or twice.
 */
#define _POSIX_C_SOURCE 200809L
#include <ferry.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 512u
#define RECORD_LENGTH (FERRY_RECORD_HEADER + 32 + 10)

static ferry_t ferry;
static uint64_t per_thread;
static unsigned char *seen;
static uint64_t accepted, rejected, other;
static int faults;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put(uint8_t *to, uint64_t value, int bytes) {
    int i;
    for (i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static void record(uint8_t *to, uint64_t tag) {
    memset(to, 0, FERRY_RECORD_HEADER + 32);
    put(to, RECORD_LENGTH, 4);
    put(to + 4, tag, 8);
    to[17] = 10;
    to[18] = FERRY_PUSH_ALERT;
    to[19] = 32;
    put(to + 20, 10, 2);
    if (tag % 1000 == 7) {
        to[FERRY_RECORD_HEADER] = 0xba;
        to[FERRY_RECORD_HEADER + 1] = 0xd0;
    }
    put(to + FERRY_RECORD_HEADER + 2, tag, 8);
    memcpy(to + FERRY_RECORD_HEADER + 32, "{\"aps\":{}}", 10);
}

static uint64_t read_outcomes(void) {
    ferry_outcome outcomes[256];
    uint64_t sum = 0;
    int64_t count, i;
    while ((count = ferry_read(ferry, outcomes, sizeof outcomes[0], 256)) > 0) {
        pthread_mutex_lock(&lock);
        for (i = 0; i < count; i++) {
            if (seen[outcomes[i].tag]++) faults++;
            if (outcomes[i].outcome == FERRY_ACCEPTED) accepted++;
            else if (outcomes[i].outcome == FERRY_REJECTED && outcomes[i].tag % 1000 == 7) rejected++;
            else other++;
        }
        pthread_mutex_unlock(&lock);
        sum += (uint64_t)count;
    }
    return sum;
}

static void *work(void *argument) {
    const uint64_t first = *(uint64_t *)argument;
    uint8_t *bytes = (uint8_t *)malloc(BATCH * RECORD_LENGTH);
    uint64_t next = 0;
    while (next < per_thread) {
        const uint64_t count = per_thread - next < BATCH ? per_thread - next : BATCH;
        uint64_t i;
        size_t position = 0;
        for (i = 0; i < count; i++) record(bytes + i * RECORD_LENGTH, first + next + i);
        while (position < count * RECORD_LENGTH) {
            size_t used = 0;
            const int64_t taken = ferry_submit(ferry, bytes + position, count * RECORD_LENGTH - position, &used);
            if (taken < 0 || used != (size_t)taken * RECORD_LENGTH) {
                fprintf(stderr, "submit: %ld %s\n", (long)taken, ferry_error_text(taken));
                exit(1);
            }
            position += used;
            if (taken == 0) {
                read_outcomes();
                ferry_wait(ferry, 100);
            }
        }
        next += count;
    }
    free(bytes);
    return NULL;
}

int main(int count, char **arguments) {
    char message[256];
    uint64_t total, tag, firsts[64];
    pthread_t threads[64];
    int64_t opened;
    int number, i;

    if (count != 4) return 2;
    number = atoi(arguments[3]);
    per_thread = strtoull(arguments[2], NULL, 10) / (uint64_t)number;
    total = per_thread * (uint64_t)number;
    seen = (unsigned char *)calloc(total, 1);
    opened = ferry_open(arguments[1], strlen(arguments[1]), message, sizeof message);
    if (opened < 0) {
        fprintf(stderr, "%s\n", message);
        return 2;
    }
    ferry = (ferry_t)opened;
    for (i = 0; i < number; i++) {
        firsts[i] = (uint64_t)i * per_thread;
        pthread_create(&threads[i], NULL, work, &firsts[i]);
    }
    for (i = 0; i < number; i++) pthread_join(threads[i], NULL);
    while (ferry_drain(ferry, 100) > 0) read_outcomes();
    read_outcomes();
    ferry_close(ferry, 10000);
    read_outcomes();
    for (tag = 0; tag < total; tag++) {
        if (seen[tag] != 1) faults++;
    }
    ferry_free(ferry);
    printf("%lu %lu %lu\n", (unsigned long)accepted, (unsigned long)rejected, (unsigned long)other);
    return faults == 0 ? 0 : 1;
}
