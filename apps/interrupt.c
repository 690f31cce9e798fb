// SPDX-License-Identifier: Apache-2.0
// interrupt.c — the one flag a signal handler may set; it belongs to the process, as signals do.
#include "interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t seen;

static void note_signal(int number) {
    (void)number;
    seen = 1;
}

void glint_interrupt_watch(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_signal;
    action.sa_flags = (int)SA_RESETHAND; // the second one is fatal
    sigemptyset(&action.sa_mask);
    seen = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN; // a write past `ulimit -f` then fails like one to a full disk
    action.sa_flags = 0;
    sigaction(SIGXFSZ, &action, NULL);
}

bool glint_interrupt_seen(void) {
    return seen != 0;
}
