// SPDX-License-Identifier: Apache-2.0
// interrupt.h — Ctrl-C and SIGTERM as a flag, so that long work can stop cleanly.
#ifndef GLINT_APPS_INTERRUPT_H
#define GLINT_APPS_INTERRUPT_H

#include <stdbool.h>

// From here on the first signal only sets the flag; a second one ends the program at once. Passing
// the limit on file sizes becomes an error of the write.
void glint_interrupt_watch(void);
bool glint_interrupt_seen(void);

#endif
