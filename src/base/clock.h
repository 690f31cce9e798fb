// SPDX-License-Identifier: Apache-2.0
// clock.h — monotonic time.
#ifndef GLINT_BASE_CLOCK_H
#define GLINT_BASE_CLOCK_H

double glint_clock_ms(void); // milliseconds since some fixed point

#endif
