// SPDX-License-Identifier: Apache-2.0
// ollama_chat.h — Ollama's /api/chat and /api/generate.
#ifndef GLINT_SERVER_OLLAMA_CHAT_H
#define GLINT_SERVER_OLLAMA_CHAT_H

#include "server/exchange.h"

void glint_ollama_chat(struct glint_exchange *exchange);
void glint_ollama_generate(struct glint_exchange *exchange);

#endif
