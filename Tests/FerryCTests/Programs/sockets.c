/* Sends one notification, forks, and exits with 0 if the child has no copy of the connection's socket and the parent's
 * connection still works.
 *
 *   sockets OPTIONS
 */
#define _POSIX_C_SOURCE 200809L
#include <ferry.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t one[] = {
    38, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 10, 0, 0, 0, 1, 2, 3, 4,
    '{', '"', 'a', 'p', 's', '"', ':', '{', '}', '}'
};

static int sockets(void) {
    struct stat status;
    int count = 0, descriptor;
    for (descriptor = 3; descriptor < 1024; descriptor++)
        if (fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) count++;
    return count;
}

static int is_confirmed(ferry_t ferry) {
    ferry_outcome outcome;
    return ferry_submit(ferry, one, sizeof one, NULL) == 1 && ferry_drain(ferry, 60000) == 0
        && ferry_read(ferry, &outcome, sizeof outcome, 1) == 1 && outcome.outcome == FERRY_ACCEPTED;
}

int main(int count, char **arguments) {
    const int before = sockets();
    int64_t opened;
    pid_t child;
    int status = 0;
    if (count != 2) return 2;
    opened = ferry_open(arguments[1], strlen(arguments[1]), NULL, 0);
    if (opened < 0 || !is_confirmed((ferry_t)opened)) return 3;
    if (sockets() <= before) return 4;
    child = fork();
    if (child == 0) _exit(sockets() == before ? 0 : 1);
    if (waitpid(child, &status, 0) != child || status != 0) return 5;
    if (!is_confirmed((ferry_t)opened)) return 6;
    ferry_close((ferry_t)opened, 1000);
    return 0;
}
