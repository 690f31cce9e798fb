// SPDX-License-Identifier: Apache-2.0
// listen.h — the socket that clients connect to: TCP, a Unix path, or one that was inherited.
#ifndef GLINT_SERVER_LISTEN_H
#define GLINT_SERVER_LISTEN_H

#include "base/status.h"

struct glint_listener {
    int fd;
    char url[300];         // for people and clients
    const char *unix_path; // removed on close; NULL otherwise
    bool local;            // only this machine can connect, by TCP
};

// host: a name, an address, or a path that ends in ".sock". port 0: any free one. tls: the URL is
// one of https.
enum glint_status glint_listener_open(struct glint_listener *listener, const char *host, int port,
                                      bool tls, struct glint_error *err);

// Takes over a socket that another program opened (systemd's socket units): fd must be a stream
// socket of IPv4, IPv6 or a Unix path that listens. name is that of its option, for errors.
enum glint_status glint_listener_inherit(struct glint_listener *listener, int fd, const char *name,
                                         bool tls, struct glint_error *err);

#endif
