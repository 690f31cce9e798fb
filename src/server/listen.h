// SPDX-License-Identifier: Apache-2.0
// listen.h — the socket that clients connect to: TCP, a Unix path, or one inherited from systemd.
#ifndef GLINT_SERVER_LISTEN_H
#define GLINT_SERVER_LISTEN_H

#include "base/status.h"

struct glint_listener {
    int fd;
    char url[300];         // for people and clients
    const char *unix_path; // removed on close; NULL otherwise
};

// host: a name, an address, or a path that ends in ".sock". port 0: any free one. tls: the URL is
// one of https.
enum glint_status glint_listener_open(struct glint_listener *listener, const char *host, int port,
                                      bool tls, struct glint_error *err);

#endif
