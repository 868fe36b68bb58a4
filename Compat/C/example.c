/* Sends one notification to each device token (hexadecimal) on standard input, and prints one line for each outcome.
 *
 *   cc example.c $(pkg-config --cflags --libs ferry) -o example
 *   ./example '{"backend":"http2","production":true,"p8":"AuthKey.p8","keyId":"…","teamId":"…","topic":"…"}' < tokens
 */
#include <ferry.h>
#include <stdio.h>
#include <string.h>

static const char payload[] = "{\"aps\":{\"alert\":\"Hello\"}}";

/* Writes the record of one notification. Returns its length. */
static size_t record(uint8_t *to, uint64_t tag, const uint8_t *token, uint8_t token_length) {
    const size_t payload_length = sizeof payload - 1;
    const size_t length = FERRY_RECORD_HEADER + token_length + payload_length;
    int i;
    memset(to, 0, FERRY_RECORD_HEADER);
    for (i = 0; i < 4; i++) to[i] = (uint8_t)(length >> 8 * i);
    for (i = 0; i < 8; i++) to[4 + i] = (uint8_t)(tag >> 8 * i);
    to[17] = 10;
    to[18] = FERRY_PUSH_ALERT;
    to[19] = token_length;
    to[20] = (uint8_t)payload_length;
    memcpy(to + FERRY_RECORD_HEADER, token, token_length);
    memcpy(to + FERRY_RECORD_HEADER + token_length, payload, payload_length);
    return length;
}

/* Prints the outcomes that have come. */
static void print_outcomes(ferry_t ferry) {
    ferry_outcome outcomes[64];
    int64_t count, i;
    while ((count = ferry_read(ferry, outcomes, sizeof outcomes[0], 64)) > 0) {
        for (i = 0; i < count; i++) {
            const char *word = outcomes[i].outcome == FERRY_ACCEPTED ? "accepted"
                : outcomes[i].outcome == FERRY_REJECTED ? "rejected"
                : outcomes[i].outcome == FERRY_UNCERTAIN ? "uncertain" : "not delivered";
            printf("%lu %s %s\n", (unsigned long)outcomes[i].tag, word, ferry_reason_text(outcomes[i].reason));
        }
    }
}

int main(int count, char **arguments) {
    char line[256], message[256];
    uint8_t token[100], bytes[512];
    uint64_t tag = 0;
    int64_t opened, left;
    ferry_t ferry;

    if (count != 2) {
        fprintf(stderr, "usage: %s OPTIONS < tokens\n", arguments[0]);
        return 2;
    }
    opened = ferry_open(arguments[1], strlen(arguments[1]), message, sizeof message);
    if (opened < 0) {
        fprintf(stderr, "%s\n", message);
        return 2;
    }
    ferry = (ferry_t)opened;

    while (fgets(line, sizeof line, stdin)) {
        uint8_t length = 0;
        unsigned byte;
        size_t size;
        while (length < sizeof token && sscanf(line + 2 * length, "%2x", &byte) == 1) token[length++] = (uint8_t)byte;
        size = record(bytes, tag, token, length);
        /* Without room it waits, as a full socket would. */
        while (ferry_submit(ferry, bytes, size, NULL) == 0) {
            print_outcomes(ferry);
            ferry_wait(ferry, 1000);
        }
        tag++;
    }

    left = ferry_drain(ferry, 60000);
    if (left > 0) fprintf(stderr, "%ld have no outcome yet\n", (long)left);
    ferry_close(ferry, 10000);
    print_outcomes(ferry);
    ferry_free(ferry);
    return 0;
}
