// SPDX-License-Identifier: Apache-2.0
// interrupt.h — Ctrl-C and SIGTERM as a flag, so that long work can stop cleanly.
#ifndef GLINT_APPS_INTERRUPT_H
#define GLINT_APPS_INTERRUPT_H

#include <stdbool.h>

// From here on the first signal only sets the flag; a second one ends the program at once. Passing
// the limit on file sizes becomes an error of the write.
void glint_interrupt_watch(void);
bool glint_interrupt_seen(void);

// For a conversation: from here on signals only set the flag. Ctrl-C three times while nobody
// clears it ends the program all the same.
void glint_interrupt_watch_each(void);
// Waits until the file can be read or a signal comes; false for a signal, none of which is missed.
bool glint_interrupt_wait(int fd);
// Clears the flag; how many Ctrl-C have come since the last call.
int glint_interrupt_take(void);
// SIGTERM or SIGHUP has come: leave.
bool glint_interrupt_is_final(void);
// The terminal changed its size, or the program goes on after Ctrl-Z; each is told once.
bool glint_interrupt_take_resize(void);
bool glint_interrupt_take_resume(void);

#endif
