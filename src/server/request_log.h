// SPDX-License-Identifier: Apache-2.0
// request_log.h — one line a request, as words or as JSON.
#ifndef GLINT_SERVER_REQUEST_LOG_H
#define GLINT_SERVER_REQUEST_LOG_H

#include "server/exchange.h"

// The exchange is over. To say_request of the server's parameters if that is set, else to say.
// GETs that were answered are left out: probes and monitors ask all the time.
void glint_request_log(const struct glint_exchange *exchange);

#endif
