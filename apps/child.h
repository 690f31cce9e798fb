// SPDX-License-Identifier: Apache-2.0
// child.h — a confined child process whose standard output is read: no new privileges, limits on
// memory, processor time and files, nothing of ours open, killed when we end or go on.
#ifndef GLINT_APPS_CHILD_H
#define GLINT_APPS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { GLINT_CHILD_WORDS = 400 };

// Asked while a child is read from, several times a second; true ends the reading.
struct glint_child_stop {
    bool (*cancel)(void *user);
    void *user;
};

struct glint_child {
    pid_t pid;                     // 0: none
    int out, err;                  // pipes, or -1
    double deadline_ms;            // glint_now_ms
    struct glint_child_stop stop;  // cancel may be NULL
    char words[GLINT_CHILD_WORDS]; // what it last said on its standard error
    size_t n_words;
};

// argv[0] is looked up in PATH. False when it cannot be started; child is then empty. stop may be
// NULL.
bool glint_child_start(struct glint_child *child, const char *const *argv, double seconds,
                       const struct glint_child_stop *stop);
// Ctrl-C has come, or whoever wanted the child has had enough.
bool glint_child_is_stopped(const struct glint_child *child);
// Reads exactly n bytes. False at the end of the output, at the deadline and when it is stopped.
bool glint_child_read(struct glint_child *child, void *data, size_t n);
// Waits until it has ended, or kills it when `kill_it`. True when it ended well by itself.
bool glint_child_end(struct glint_child *child, bool kill_it);

#endif
