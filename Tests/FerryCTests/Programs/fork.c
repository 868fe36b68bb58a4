/* Forks while four threads send, and lets each child use its parent's handle, free it, and send with its own. */
#define _POSIX_C_SOURCE 200809L
#include <ferry.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 20
#define SENDERS 4

static const char options[] = "{\"backend\":\"echo\"}";
static const uint8_t one[] = {
    38, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 10, 0, 0, 0, 1, 2, 3, 4,
    '{', '"', 'a', 'p', 's', '"', ':', '{', '}', '}'
};
static volatile int stops;

static void *send_all_the_time(void *argument) {
    const ferry_t ferry = *(ferry_t *)argument;
    ferry_outcome outcomes[64];
    while (!stops) {
        ferry_submit(ferry, one, sizeof one, NULL);
        ferry_read(ferry, outcomes, sizeof outcomes[0], 64);
    }
    return NULL;
}

/* Returns how many of 50 notifications have their outcome. */
static int send_some(void) {
    ferry_outcome outcome;
    const int64_t ferry = ferry_open(options, sizeof options - 1, NULL, 0);
    int sent = 0, i;
    if (ferry < 0) return -1;
    for (i = 0; i < 50; i++) {
        if (ferry_submit((ferry_t)ferry, one, sizeof one, NULL) != 1) return -2;
        if (ferry_read((ferry_t)ferry, &outcome, sizeof outcome, 1) == 1 && outcome.tag == 1) sent++;
    }
    ferry_close((ferry_t)ferry, 1000);
    ferry_free((ferry_t)ferry);
    return sent;
}

int main(void) {
    pthread_t threads[SENDERS];
    ferry_t ferry = (ferry_t)ferry_open(options, sizeof options - 1, NULL, 0);
    int i, faults = 0;
    for (i = 0; i < SENDERS; i++) pthread_create(&threads[i], NULL, send_all_the_time, &ferry);
    for (i = 0; i < CHILDREN; i++) {
        const pid_t child = fork();
        int status = 0;
        if (child == 0) {
            alarm(60);
            if (ferry_submit(ferry, one, sizeof one, NULL) != FERRY_EFORKED) _exit(1);
            if (ferry_wait(ferry, 1000) != FERRY_EFORKED) _exit(2);
            if (ferry_free(ferry) != 0) _exit(3);
            _exit(send_some() == 50 ? 0 : 4);
        }
        if (waitpid(child, &status, 0) != child || status != 0) {
            printf("child %d: status %d\n", i, status);
            faults++;
        }
    }
    stops = 1;
    for (i = 0; i < SENDERS; i++) pthread_join(threads[i], NULL);
    {
        ferry_numbers numbers;
        if (ferry_counts(ferry, &numbers, sizeof numbers) != 0 || numbers.unsettled != 0) faults++;
    }
    ferry_free(ferry);
    return faults == 0 ? 0 : 1;
}
