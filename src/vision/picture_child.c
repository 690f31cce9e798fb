// SPDX-License-Identifier: Apache-2.0
// picture_child.c — see picture_child.h. The child sends a struct answer, then the pixels. What it
// sends is as hostile as the file.
#include "vision/picture_child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BASE_BYTES = 128 << 20, // of address space, and this much more a pixel
    PIXEL_BYTES = 24,
    BASE_US = 900000, // of processor time, and this much more a pixel
    PIXEL_US = 1,
    WAIT_MS = 600000, // for the child, which may be kept from running
    MAX_FD = 1024,
};

struct answer {
    enum glint_status status;
    int width, height, orientation;
    char text[sizeof((struct glint_error *)0)->text];
};

// ---- the child ------------------------------------------------------------------------------

// Of this process; 0 where the system does not tell.
static uint64_t address_space(void) {
    char text[32] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void limit(int64_t pixels) {
    uint64_t held = address_space(), more = (uint64_t)(BASE_BYTES + PIXEL_BYTES * pixels);
    struct rlimit bytes;
    int64_t us = BASE_US + PIXEL_US * pixels;
    struct itimerval timer = {.it_value = {us / 1000000, us % 1000000}};
    if (held > 0 && getrlimit(RLIMIT_AS, &bytes) == 0) {
        bytes.rlim_cur = held + more < bytes.rlim_max ? held + more : bytes.rlim_max;
        setrlimit(RLIMIT_AS, &bytes);
    }
    setitimer(ITIMER_PROF, &timer, NULL);
}

// Lets go of what the parent has open.
static void confine(int out) {
    int none = open("/dev/null", O_RDWR);
    struct rlimit zero = {0, 0};
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#endif
    for (int fd = 0; fd < MAX_FD; fd++)
        if (fd <= STDERR_FILENO)
            dup2(none, fd);
        else if (fd != out)
            close(fd);
    setrlimit(RLIMIT_CORE, &zero);
    setrlimit(RLIMIT_FSIZE, &zero); // writes no file
    signal(SIGPROF, SIG_DFL);
    limit(0);
}

enum glint_status glint_picture_child_room(struct glint_rgb *rgb, int64_t width, int64_t height,
                                           const char *name, struct glint_error *err) {
    if (width >= 1 && height >= 1 && width <= GLINT_PICTURE_PIXELS / height)
        limit(width * height);
    return glint_picture_room(rgb, width, height, name, err);
}

static bool send_all(int out, const void *data, size_t n) {
    const char *from = data;
    while (n > 0) {
        ssize_t done = write(out, from, n);
        if (done < 0 && errno != EINTR)
            return false;
        from += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

// Never returns; its memory ends with it.
static void be_child(glint_picture_reader reader, const struct glint_picture_file *file, int out) {
    struct answer answer = {.orientation = 1};
    struct glint_rgb rgb = {NULL, 0, 0};
    struct glint_error error = {.status = GLINT_OK};
    confine(out);
    answer.status = reader(&rgb, file, &answer.orientation, &error);
    answer.width = rgb.width;
    answer.height = rgb.height;
    snprintf(answer.text, sizeof answer.text, "%s", error.text);
    if (send_all(out, &answer, sizeof answer) && answer.status == GLINT_OK)
        send_all(out, rgb.data, (size_t)rgb.width * (size_t)rgb.height * 3);
    _exit(0);
}

// ---- the parent -----------------------------------------------------------------------------

static bool take_all(int in, void *data, size_t n, double deadline_ms) {
    char *to = data;
    while (n > 0) {
        double left = deadline_ms - glint_clock_ms();
        struct pollfd wait = {in, POLLIN, 0};
        if (left <= 0 || (poll(&wait, 1, (int)left + 1) < 0 && errno != EINTR))
            return false;
        if (!wait.revents)
            continue;
        ssize_t got = read(in, to, n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        to += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static enum glint_status receive(struct glint_rgb *rgb, int in,
                                 const struct glint_picture_file *file, int *orientation,
                                 struct glint_error *err) {
    struct answer answer;
    const double deadline_ms = glint_clock_ms() + WAIT_MS;
    bool whole = take_all(in, &answer, sizeof answer, deadline_ms);
    if (whole && answer.status != GLINT_OK) {
        answer.text[sizeof answer.text - 1] = 0;
        return glint_fail(err, answer.status, "%s", answer.text);
    }
    if (whole) {
        bool known = answer.orientation >= 1 && answer.orientation <= 8;
        *orientation = known ? answer.orientation : 1;
        GLINT_TRY(glint_picture_room(rgb, answer.width, answer.height, file->name, err));
    }
    if (whole && take_all(in, rgb->data, (size_t)rgb->width * (size_t)rgb->height * 3, deadline_ms))
        return GLINT_OK;
    return glint_fail(err, GLINT_E_FORMAT,
                      "%s: damaged: the decoder crashed, or wanted more memory or time than a "
                      "picture of the size that the file claims",
                      file->name);
}

enum glint_status glint_picture_in_child(glint_picture_reader reader, struct glint_rgb *rgb,
                                         const struct glint_picture_file *file, int *orientation,
                                         struct glint_error *err) {
    int ends[2], ended;
    if (pipe(ends) != 0)
        return glint_fail(err, GLINT_E_IO, "%s: no pipe to a decoder: %s", file->name,
                          strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0)
        be_child(reader, file, ends[1]);
    close(ends[1]);
    enum glint_status status =
        pid > 0 ? receive(rgb, ends[0], file, orientation, err)
                : glint_fail(err, GLINT_E_NOMEM, "%s: no process for a decoder: %s", file->name,
                             strerror(errno));
    close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL); // it has said all, or gets no further
        while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
            ;
    }
    return status;
}
