/* Sends on this thread, forks, and lets the child send on the same thread, one notification at a time. Exits with 0 if each of
 * the child's notifications was accepted.
 *
 *   child OPTIONS COUNT
 */
#define _POSIX_C_SOURCE 200809L
#include <ferry.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns how many of `count` notifications were accepted. */
static int64_t send_all(const char *options, int count) {
    uint8_t one[] = {
        38, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 10, 0, 0, 0, 1, 2, 3, 4,
        '{', '"', 'a', 'p', 's', '"', ':', '{', '}', '}'
    };
    ferry_outcome outcomes[64];
    ferry_numbers numbers;
    const int64_t ferry = ferry_open(options, strlen(options), NULL, 0);
    int i;
    if (ferry < 0) return ferry;
    for (i = 0; i < count; i++) {
        memcpy(one + 24, &i, sizeof i);
        while (ferry_submit((ferry_t)ferry, one, sizeof one, NULL) == 0) {
            ferry_read((ferry_t)ferry, outcomes, sizeof outcomes[0], 64);
            ferry_wait((ferry_t)ferry, 1000);
        }
    }
    while (ferry_drain((ferry_t)ferry, 100) > 0) ferry_read((ferry_t)ferry, outcomes, sizeof outcomes[0], 64);
    ferry_counts((ferry_t)ferry, &numbers, sizeof numbers);
    ferry_close((ferry_t)ferry, 1000);
    ferry_free((ferry_t)ferry);
    return (int64_t)(numbers.confirmed + numbers.presumed);
}

int main(int count, char **arguments) {
    pid_t child;
    int number, status = 0;
    if (count != 3) return 2;
    number = atoi(arguments[2]);
    if (send_all(arguments[1], 1000) != 1000) return 3;
    child = fork();
    if (child == 0) {
        alarm(120);
        _exit(send_all(arguments[1], number) == number ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
