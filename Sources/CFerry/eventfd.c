#include "cferry.h"

#include <sys/eventfd.h>

int cferry_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void cferry_eventfd_raise(int descriptor) { (void)eventfd_write(descriptor, 1); }

void cferry_eventfd_clear(int descriptor) {
    eventfd_t value;
    (void)eventfd_read(descriptor, &value);
}
