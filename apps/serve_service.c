// SPDX-License-Identifier: Apache-2.0
// serve_service.c — the variables of systemd's socket activation and of its notifications.
// Whether a descriptor is a socket that listens is checked where it is taken over (listen.c).
#include "serve_service.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_FD = 3, MAX_FDS = 2, MAX_MESSAGE = 1000 };

// variable: found "value", expected ...
static enum glint_status fail(struct glint_error *err, const char *variable, const char *value,
                              const char *expected) {
    *err = (struct glint_error){.status = GLINT_E_ARG};
    snprintf(err->text, sizeof err->text, "%s: found \"%.120s\", expected %s", variable, value,
             expected);
    return err->status;
}

// A number of digits alone; -1 for anything else.
static long read_number(const char *text) {
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return -1;
    long value = strtol(text, &end, 10); // LONG_MAX when it is over that
    return *end == 0 ? value : -1;
}

// Whether the i-th of names, which are divided by colons, is word.
static bool is_named(const char *names, int i, const char *word) {
    for (; names && i > 0; i--) {
        names = strchr(names, ':');
        names = names ? names + 1 : NULL;
    }
    return names && strcspn(names, ":") == strlen(word) && strncmp(names, word, strlen(word)) == 0;
}

static enum glint_status take_sockets(struct glint_service *service, struct glint_error *err) {
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");
    if (!pid || !count || read_number(pid) != (long)getpid())
        return GLINT_OK; // meant for another process
    long n = read_number(count);
    if (n < 0 || n > MAX_FDS)
        return fail(err, "LISTEN_FDS", count,
                    "two sockets at most: one for HTTP, one for Ollama's protocol");
    for (int i = 0; i < n; i++) {
        bool ollama = is_named(names, i, "ollama") || service->fd >= 0;
        int *fd = ollama ? &service->ollama_fd : &service->fd;
        if (*fd >= 0)
            return fail(err, "LISTEN_FDNAMES", names ? names : "",
                        "one socket for Ollama's protocol at most");
        *fd = FIRST_FD + i;
    }
    return GLINT_OK;
}

static enum glint_status take_manager(struct glint_service *service, struct glint_error *err) {
    const char *path = getenv("NOTIFY_SOCKET");
    size_t n = path ? strlen(path) : 0;
    if (n == 0)
        return GLINT_OK;
    if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof service->manager.sun_path)
        return fail(err, "NOTIFY_SOCKET", path,
                    "the path of a Unix socket, or @ and an abstract name");
    service->manager.sun_family = AF_UNIX;
    memcpy(service->manager.sun_path, path, n);
    if (path[0] == '@')
        service->manager.sun_path[0] = 0;
    service->n_manager = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return GLINT_OK;
}

enum glint_status glint_service_take(struct glint_service *service, struct glint_error *err) {
    static const char *const names[] = {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
                                        "NOTIFY_SOCKET"};
    *service = (struct glint_service){.fd = -1, .ollama_fd = -1};
    enum glint_status status = take_sockets(service, err);
    if (status == GLINT_OK)
        status = take_manager(service, err);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return status;
}

void glint_service_tell(const struct glint_service *service, const char *format, ...) {
    char text[MAX_MESSAGE];
    va_list args;
    if (service->n_manager == 0)
        return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (n <= 0 || fd < 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    size_t n_text = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    ssize_t sent = sendto(fd, text, n_text, MSG_NOSIGNAL | MSG_DONTWAIT,
                          (const struct sockaddr *)&service->manager, service->n_manager);
    (void)sent;
    close(fd);
}
