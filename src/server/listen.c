// SPDX-License-Identifier: Apache-2.0
// listen.c — opening the socket, with errors that name the address and what to do.
#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 256 };

static enum glint_status fail_errno(struct glint_error *err, const char *host, int port,
                                    const char *what) {
    const char *hint = errno == EADDRINUSE ? "; another program listens there: take another --port"
                       : errno == EACCES   ? "; ports below 1024 need a right that this user lacks"
                                           : "";
    return glint_fail(err, GLINT_E_IO, "%s port %d: cannot %s: %s%s", host, port, what,
                      strerror(errno), hint);
}

// Whether somebody takes connections at a path that exists.
static bool is_in_use(const struct sockaddr_un *address) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // A full queue (EAGAIN) has an owner too.
    bool used = fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
                            errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return used;
}

static enum glint_status open_unix(struct glint_listener *listener, const char *path,
                                   struct glint_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (strlen(path) >= sizeof address.sun_path)
        return glint_fail(err, GLINT_E_ARG, "%s: a socket's path has at most %zu bytes", path,
                          sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    bool socket_there = lstat(path, &info) == 0 && S_ISSOCK(info.st_mode);
    if (socket_there && is_in_use(&address))
        return glint_fail(err, GLINT_E_IO, "%s: another program listens there", path);
    if (socket_there)
        unlink(path); // left by a server that was killed
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener->fd < 0 || bind(listener->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener->fd, BACKLOG) != 0) {
        int saved = errno;
        if (listener->fd >= 0)
            close(listener->fd);
        return glint_fail(err, GLINT_E_IO, "%s: cannot listen: %s", path, strerror(saved));
    }
    listener->unix_path = path;
    snprintf(listener->url, sizeof listener->url, "unix:%s", path);
    return GLINT_OK;
}

static bool is_loopback(const struct sockaddr_storage *address) {
    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

// What the socket is bound to decides who can connect: a host's name says nothing.
static void describe(struct glint_listener *listener, const char *host, bool tls) {
    struct sockaddr_storage address;
    socklen_t n = sizeof address;
    int port = 0;
    if (getsockname(listener->fd, (struct sockaddr *)&address, &n) == 0) {
        port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                   : ((struct sockaddr_in *)&address)->sin_port);
        listener->local = is_loopback(&address);
    }
    bool v6 = strchr(host, ':') != NULL;
    snprintf(listener->url, sizeof listener->url, "%s://%s%.200s%s:%d", tls ? "https" : "http",
             v6 ? "[" : "", host, v6 ? "]" : "", port);
}

enum glint_status glint_listener_open(struct glint_listener *listener, const char *host, int port,
                                      bool tls, struct glint_error *err) {
    size_t n = strlen(host);
    *listener = (struct glint_listener){.fd = -1};
    if (n > 5 && strcmp(host + n - 5, ".sock") == 0)
        return open_unix(listener, host, err);
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char text[16];
    snprintf(text, sizeof text, "%d", port);
    int code = getaddrinfo(host, text, &hints, &found);
    if (code != 0)
        return glint_fail(err, GLINT_E_ARG, "--host: found \"%s\", expected an address: %s", host,
                          gai_strerror(code));
    int one = 1;
    enum glint_status status = GLINT_OK;
    listener->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener->fd < 0)
        status = fail_errno(err, host, port, "open a socket");
    else if (setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
             bind(listener->fd, found->ai_addr, found->ai_addrlen) != 0 ||
             listen(listener->fd, BACKLOG) != 0)
        status = fail_errno(err, host, port, "listen");
    freeaddrinfo(found);
    if (status == GLINT_OK) {
        describe(listener, host, tls);
    } else if (listener->fd >= 0) {
        close(listener->fd);
        listener->fd = -1;
    }
    return status;
}

static bool read_option(int fd, int option, int *value) {
    socklen_t n = sizeof *value;
    return getsockopt(fd, SOL_SOCKET, option, value, &n) == 0;
}

enum glint_status glint_listener_inherit(struct glint_listener *listener, int fd, const char *name,
                                         bool tls, struct glint_error *err) {
    struct sockaddr_storage address;
    socklen_t n = sizeof address;
    int type = 0, listens = 0;
    char host[INET6_ADDRSTRLEN];
    *listener = (struct glint_listener){.fd = -1};
    if (!read_option(fd, SO_TYPE, &type) || !read_option(fd, SO_ACCEPTCONN, &listens))
        return glint_fail(err, GLINT_E_ARG, "%s: descriptor %d: expected a socket: %s", name, fd,
                          strerror(errno));
    if (type != SOCK_STREAM || !listens)
        return glint_fail(err, GLINT_E_ARG,
                          "%s: descriptor %d: found a socket %s, expected a stream socket that "
                          "listens (Accept=no)",
                          name, fd, type != SOCK_STREAM ? "of another type" : "that does not");
    if (getsockname(fd, (struct sockaddr *)&address, &n) != 0 ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6 &&
         address.ss_family != AF_UNIX))
        return glint_fail(err, GLINT_E_ARG,
                          "%s: descriptor %d: expected a socket of TCP or a Unix path", name, fd);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return glint_fail(err, GLINT_E_IO, "%s: descriptor %d: %s", name, fd, strerror(errno));
    listener->fd = fd;
    if (address.ss_family == AF_UNIX) { // its path is the other program's to remove
        const struct sockaddr_un *path = (struct sockaddr_un *)&address;
        bool named = n > offsetof(struct sockaddr_un, sun_path) && path->sun_path[0];
        snprintf(listener->url, sizeof listener->url, "unix:%.*s", (int)sizeof path->sun_path,
                 named ? path->sun_path : "");
        return GLINT_OK;
    }
    const void *bytes = address.ss_family == AF_INET6
                            ? (void *)&((struct sockaddr_in6 *)&address)->sin6_addr
                            : (void *)&((struct sockaddr_in *)&address)->sin_addr;
    if (!inet_ntop(address.ss_family, bytes, host, sizeof host))
        return glint_fail(err, GLINT_E_IO, "%s: descriptor %d: %s", name, fd, strerror(errno));
    describe(listener, host, tls);
    return GLINT_OK;
}
