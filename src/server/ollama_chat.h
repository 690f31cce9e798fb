// SPDX-License-Identifier: Apache-2.0
// ollama_chat.h — Ollama's /api/chat and /api/generate.
#ifndef GLINT_SERVER_OLLAMA_CHAT_H
#define GLINT_SERVER_OLLAMA_CHAT_H

#include "server/chat_job.h"

// Fills job, which borrows from root. False after filling error; finish the job in any case.
bool glint_ollama_chat_read(struct glint_chat_job *job, const struct glint_json *root,
                            const struct glint_request_defaults *defaults,
                            struct glint_api_error *error);
void glint_ollama_chat(struct glint_exchange *exchange);
void glint_ollama_generate(struct glint_exchange *exchange);

#endif
