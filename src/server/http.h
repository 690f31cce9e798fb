// SPDX-License-Identifier: Apache-2.0
// http.h — the HTTP library's callbacks: requests come in, exchanges go to their routes.
#ifndef GLINT_SERVER_HTTP_H
#define GLINT_SERVER_HTTP_H

#include "server/exchange.h"

// Serves the listening socket fd, which it takes over. server->daemon is set.
enum glint_status glint_http_start(struct glint_server *server, int fd, struct glint_error *err);
// Accepts no more connections.
void glint_http_quiesce(struct glint_server *server);
void glint_http_stop(struct glint_server *server);

#endif
