// SPDX-License-Identifier: Apache-2.0
// embeddings.h — texts as vectors: OpenAI's /v1/embeddings, Ollama's /api/embed and
// /api/embeddings. A vector is the last token's row after the final norm, scaled to length 1: in a
// causal model that token alone has seen the whole text. Off unless the server was told otherwise.
#ifndef GLINT_SERVER_EMBEDDINGS_H
#define GLINT_SERVER_EMBEDDINGS_H

#include "server/exchange.h"

void glint_openai_embeddings(struct glint_exchange *exchange);
void glint_ollama_embed(struct glint_exchange *exchange);
void glint_ollama_embeddings(struct glint_exchange *exchange); // the older path: one text

#endif
