// SPDX-License-Identifier: Apache-2.0
// http.h — the HTTP library's callbacks: requests come in, exchanges go to their routes.
#ifndef GLINT_SERVER_HTTP_H
#define GLINT_SERVER_HTTP_H

#include "server/exchange.h"
#include "server/tls.h"

// Serves the door's listening socket fd, which it takes over. door->daemon is set.
enum glint_status glint_http_start(struct glint_door *door, int fd, const struct glint_tls *tls,
                                   struct glint_error *err);
void glint_http_stop(struct glint_door *door);

#endif
