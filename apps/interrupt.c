// SPDX-License-Identifier: Apache-2.0
// interrupt.c — the flags a signal handler may set; they belong to the process, as signals do.
#include "interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_INTERRUPTED = 130 };

static volatile sig_atomic_t seen;    // signals that nobody has taken
static volatile sig_atomic_t fatal;   // so many of them end the program at once
static volatile sig_atomic_t final;   // SIGTERM or SIGHUP
static volatile sig_atomic_t resized; // SIGWINCH
static volatile sig_atomic_t resumed; // SIGCONT

static int wake[2] = {-1, -1}; // a pipe: a signal between a look and a wait is not missed

static void note_signal(int number) {
    int reason = errno;
    if (number == SIGWINCH) {
        resized = 1;
    } else if (number == SIGCONT) {
        resumed = 1;
    } else {
        final = final || number != SIGINT;
        seen = seen + 1;
    }
    if (seen >= fatal)
        _exit(EXIT_INTERRUPTED);
    ssize_t n = wake[1] < 0 ? 0 : write(wake[1], "", 1);
    (void)n; // full: it wakes all the same
    errno = reason;
}

static void watch(const int *signals, int n) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_signal;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < n; i++)
        sigaction(signals[i], &action, NULL);
}

void glint_interrupt_watch(void) {
    static const int signals[] = {SIGINT, SIGTERM};
    seen = final = 0;
    fatal = 2; // also one of each
    watch(signals, 2);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN; // a write past `ulimit -f` then fails like one to a full disk
    sigaction(SIGXFSZ, &action, NULL);
}

void glint_interrupt_watch_each(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT};
    seen = final = resized = resumed = 0;
    fatal = 3;
    if (wake[0] < 0 && pipe(wake) == 0) {
        for (int i = 0; i < 2; i++) {
            fcntl(wake[i], F_SETFL, O_NONBLOCK);
            fcntl(wake[i], F_SETFD, FD_CLOEXEC);
        }
    }
    watch(signals, 5);
}

bool glint_interrupt_wait(int fd) {
    struct pollfd files[2] = {{.fd = fd, .events = POLLIN}, {.fd = wake[0], .events = POLLIN}};
    char drained[64];
    if (poll(files, 2, -1) < 0)
        return errno != EINTR;
    if (files[1].revents == 0)
        return true;
    while (read(wake[0], drained, sizeof drained) > 0)
        ;
    return false;
}

bool glint_interrupt_seen(void) {
    return seen != 0 || final != 0;
}

int glint_interrupt_take(void) {
    int n = seen;
    seen = 0;
    return n;
}

bool glint_interrupt_is_final(void) {
    return final != 0;
}

static bool take(volatile sig_atomic_t *flag) {
    bool was = *flag != 0;
    *flag = 0;
    return was;
}

bool glint_interrupt_take_resize(void) {
    return take(&resized);
}

bool glint_interrupt_take_resume(void) {
    return take(&resumed);
}
