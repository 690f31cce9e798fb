// SPDX-License-Identifier: Apache-2.0
// native_routes.h — llama.cpp's own paths, and what monitoring asks.
#ifndef GLINT_SERVER_NATIVE_ROUTES_H
#define GLINT_SERVER_NATIVE_ROUTES_H

#include "server/exchange.h"

void glint_native_health(struct glint_exchange *exchange);     // GET /health
void glint_native_metrics(struct glint_exchange *exchange);    // GET /metrics
void glint_native_props(struct glint_exchange *exchange);      // GET /props
void glint_native_tokenize(struct glint_exchange *exchange);   // POST /tokenize
void glint_native_detokenize(struct glint_exchange *exchange); // POST /detokenize
void glint_native_template(struct glint_exchange *exchange);   // POST /apply-template

#endif
