/* bench OPTIONS COUNT: sends COUNT notifications in batches of 4,096, reads every outcome, prints the rate. */
#include <ferry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { batch = 4096, token_length = 32 };
static const char payload[] = "{\"aps\":{\"alert\":\"Hello\",\"badge\":1,\"sound\":\"default\"}}";
static ferry_outcome outcomes[batch];
static uint8_t bytes[batch * (FERRY_RECORD_HEADER + token_length + sizeof payload)];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    char message[512];
    uint64_t count, tag = 0, settled = 0, accepted = 0;
    size_t length = FERRY_RECORD_HEADER + token_length + sizeof payload - 1, pending = 0, offset = 0;
    int64_t handle;
    double start;
    if (argc != 3) return 2;
    count = strtoull(argv[2], NULL, 10);
    handle = ferry_open(argv[1], strlen(argv[1]), message, sizeof message);
    if (handle < 0) { fprintf(stderr, "%s\n", message); return 2; }
    start = now();
    while (settled < count) {
        int64_t got, i;
        if (offset == pending && tag < count) {
            offset = pending = 0;
            for (i = 0; i < batch && tag < count; i++, tag++) {
                uint8_t *to = bytes + pending;
                int k;
                memset(to, 0, FERRY_RECORD_HEADER + token_length);
                for (k = 0; k < 4; k++) to[k] = (uint8_t)(length >> 8 * k);
                for (k = 0; k < 8; k++) to[4 + k] = to[FERRY_RECORD_HEADER + k] = (uint8_t)(tag >> 8 * k);
                to[17] = 10;
                to[18] = FERRY_PUSH_ALERT;
                to[19] = token_length;
                to[20] = sizeof payload - 1;
                memcpy(to + FERRY_RECORD_HEADER + token_length, payload, sizeof payload - 1);
                pending += length;
            }
        }
        if (offset < pending) {
            size_t used = 0;
            ferry_submit((ferry_t)handle, bytes + offset, pending - offset, &used);
            offset += used;
        }
        while ((got = ferry_read((ferry_t)handle, outcomes, sizeof outcomes[0], batch)) > 0) {
            for (i = 0; i < got; i++) accepted += outcomes[i].outcome == FERRY_ACCEPTED;
            settled += (uint64_t)got;
        }
        if (settled < count && (offset < pending || tag == count)) ferry_wait((ferry_t)handle, 100);
    }
    printf("{\"perSecond\":%.0f,\"accepted\":%lu}\n", count / (now() - start), (unsigned long)accepted);
    ferry_close((ferry_t)handle, 1000);
    ferry_free((ferry_t)handle);
    return 0;
}
