// SPDX-License-Identifier: Apache-2.0
// serve_log.h — what `glint serve` says on stderr, for people or, a JSON object a line, for
// machines.
#ifndef GLINT_APPS_SERVE_LOG_H
#define GLINT_APPS_SERVE_LOG_H

#include "server/server.h"

struct glint_serve_log {
    bool json;
    bool quiet;   // errors alone
    bool verbose; // also what is for debugging
};

// Lines come whole, from any thread.
void glint_serve_log_say(const struct glint_serve_log *log, enum glint_log_kind kind,
                         const char *text);
// object: of glint_server_params.say_request. Only with json.
void glint_serve_log_request(const struct glint_serve_log *log, const char *object);
// The server is ready: where, with what, and how clients are pointed at it.
void glint_serve_log_ready(const struct glint_serve_log *log, const struct glint_server *server,
                           const struct glint_server_params *params);
// Takes no more requests; all are answered.
void glint_serve_log_stopping(const struct glint_serve_log *log);
void glint_serve_log_stopped(const struct glint_serve_log *log);

#endif
