/* What Swift does not see of the system's library. For FerryC alone: not installed. */
#ifndef CFERRY_H
#define CFERRY_H

/* Returns a new eventfd of value 0, close-on-exec and non-blocking; -1: errno says why. */
int cferry_eventfd(void);

/* Adds 1 to the value: the descriptor is readable. */
void cferry_eventfd_raise(int descriptor);

/* Sets the value to 0. */
void cferry_eventfd_clear(int descriptor);

/* Renames a file to a name that does not exist yet. Returns 0; -1: errno says why, EEXIST if the name exists. */
int cferry_rename_new(const char *from, const char *to);

#endif
