#include <stdint.h>

/// Returns the number of allocations of this process so far, on all threads.
uint64_t ferry_allocations(void);
