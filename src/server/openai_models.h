// SPDX-License-Identifier: Apache-2.0
// openai_models.h — the list of models, which has one.
#ifndef GLINT_SERVER_OPENAI_MODELS_H
#define GLINT_SERVER_OPENAI_MODELS_H

#include "server/exchange.h"

// GET /v1/models; in Anthropic's shape when the request has an anthropic-version.
void glint_openai_models(struct glint_exchange *exchange);
// What the model can do, as a list of words.
void glint_models_put_capabilities(struct glint_json_writer *w, const struct glint_server *server);
// GET /v1/models/{id}
void glint_openai_model(struct glint_exchange *exchange);

#endif
