// SPDX-License-Identifier: Apache-2.0
// clock.c — monotonic time, unaffected by changes of the wall clock.
#include "base/clock.h"

#include <time.h>

double glint_clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}
