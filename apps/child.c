// SPDX-License-Identifier: Apache-2.0
// child.c — see child.h. Between fork and exec only calls that are safe there.
#include "child.h"

#include "interrupt.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPU_SECONDS = 300, MAX_FILES = 64, SLICE_MS = 100 };

static void limit(int what, rlim_t value) {
    struct rlimit limits = {value, value};
    setrlimit(what, &limits);
}

// In the child: never returns.
static void become(const char *const *argv, int out, int err) {
    int none = open("/dev/null", O_RDWR);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#endif
    dup2(none, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
        close(fd);
    limit(RLIMIT_AS, (rlim_t)2 << 30);
    limit(RLIMIT_CPU, CPU_SECONDS);
    limit(RLIMIT_FSIZE, 0); // writes no file
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, MAX_FILES);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static void close_pipe(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool glint_child_start(struct glint_child *child, const char *const *argv, double seconds,
                       const struct glint_child_stop *stop) {
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    *child = (struct glint_child){.out = -1, .err = -1};
    if (stop)
        child->stop = *stop;
    bool piped = pipe(out) == 0 && pipe(err) == 0;
    pid_t pid = piped ? fork() : -1;
    if (pid == 0)
        become(argv, out[1], err[1]);
    close_pipe(&out[1]);
    close_pipe(&err[1]);
    if (pid < 0) {
        close_pipe(&out[0]);
        close_pipe(&err[0]);
        return false;
    }
    child->pid = pid;
    child->out = out[0];
    child->err = err[0];
    child->deadline_ms = glint_now_ms() + seconds * 1e3;
    return true;
}

bool glint_child_is_stopped(const struct glint_child *child) {
    return glint_interrupt_seen() || (child->stop.cancel && child->stop.cancel(child->stop.user));
}

// Takes what the child says; what does not fit is dropped.
static void take_words(struct glint_child *child) {
    char words[512];
    ssize_t n = read(child->err, words, sizeof words);
    if (n <= 0) {
        close_pipe(&child->err);
        return;
    }
    size_t room = sizeof child->words - 1 - child->n_words;
    size_t take = (size_t)n < room ? (size_t)n : room;
    memcpy(child->words + child->n_words, words, take);
    child->n_words += take;
    child->words[child->n_words] = 0;
}

bool glint_child_read(struct glint_child *child, void *data, size_t n) {
    char *to = data;
    while (n > 0) {
        struct pollfd fds[2] = {{child->out, POLLIN, 0}, {child->err, POLLIN, 0}};
        if (glint_child_is_stopped(child) || glint_now_ms() > child->deadline_ms || child->out < 0)
            return false;
        if (poll(fds, 2, SLICE_MS) < 0 && errno != EINTR)
            return false;
        if (fds[1].revents)
            take_words(child);
        if (!fds[0].revents)
            continue;
        ssize_t got = read(child->out, to, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

bool glint_child_end(struct glint_child *child, bool kill_it) {
    int status = 0;
    char rest[512];
    if (child->pid == 0)
        return false;
    while (!kill_it && glint_child_read(child, rest, 1)) // so that it can end
        ;
    while (!kill_it && child->err >= 0 && glint_now_ms() < child->deadline_ms)
        take_words(child);
    close_pipe(&child->out);
    close_pipe(&child->err);
    if (kill_it || glint_child_is_stopped(child) || glint_now_ms() > child->deadline_ms)
        kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    child->pid = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
