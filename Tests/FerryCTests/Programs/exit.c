/* Submits notifications and exits with 7 without closing, in the middle of sending.
 *
 *   exit OPTIONS COUNT [free|echo]    with "free" it frees the handle before
 *                                     with "echo" it first opens a handle that never uses OpenSSL
 */
#include <ferry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    static uint8_t one[] = {
        38, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 10, 0, 0, 0, 1, 2, 3, 4,
        '{', '"', 'a', 'p', 's', '"', ':', '{', '}', '}'
    };
    ferry_outcome outcomes[64];
    char message[512];
    int64_t opened;
    int i;
    if (count < 3) return 2;
    if (count == 4 && strcmp(arguments[3], "echo") == 0) {
        static const char echo[] = "{\"backend\":\"echo\"}";
        if (ferry_open(echo, strlen(echo), NULL, 0) < 0) return 2;
    }
    opened = ferry_open(arguments[1], strlen(arguments[1]), message, sizeof message);
    if (opened < 0) {
        puts(message);
        return 2;
    }
    for (i = 0; i < atoi(arguments[2]); i++) {
        memcpy(one + 24, &i, sizeof i);
        while (ferry_submit((ferry_t)opened, one, sizeof one, NULL) == 0) {
            ferry_read((ferry_t)opened, outcomes, sizeof outcomes[0], 64);
            ferry_wait((ferry_t)opened, 1000);
        }
    }
    if (count == 4 && strcmp(arguments[3], "free") == 0) ferry_free((ferry_t)opened);
    exit(7);
}
