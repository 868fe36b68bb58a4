#include <stdint.h>

/// How often this process has asked for memory so far, on all threads.
uint64_t ferry_allocations(void);
