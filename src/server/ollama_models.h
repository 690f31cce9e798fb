// SPDX-License-Identifier: Apache-2.0
// ollama_models.h — the paths of Ollama's protocol that tell what there is: version, the one model
// in three lists, its details; and what Ollama does to its store of models, which is refused.
#ifndef GLINT_SERVER_OLLAMA_MODELS_H
#define GLINT_SERVER_OLLAMA_MODELS_H

#include "server/exchange.h"

void glint_ollama_root(struct glint_exchange *exchange);
void glint_ollama_version(struct glint_exchange *exchange);
void glint_ollama_tags(struct glint_exchange *exchange); // models on disk
void glint_ollama_ps(struct glint_exchange *exchange);   // models in memory
void glint_ollama_show(struct glint_exchange *exchange);
// Downloads, uploads, copies and deletes.
void glint_ollama_store(struct glint_exchange *exchange);
// Accounts.
void glint_ollama_account(struct glint_exchange *exchange);

// Appends a time as Ollama writes it: "2026-11-30T21:06:00.123456789Z".
void glint_ollama_put_time(struct glint_json_writer *w, int64_t seconds, int64_t nanoseconds);

#endif
