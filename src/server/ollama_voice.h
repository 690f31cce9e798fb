// SPDX-License-Identifier: Apache-2.0
// ollama_voice.h — what an answer sounds like in Ollama's protocol: lines of JSON, or one object.
#ifndef GLINT_SERVER_OLLAMA_VOICE_H
#define GLINT_SERVER_OLLAMA_VOICE_H

#include "server/chat_job.h"

enum glint_ollama_kind {
    GLINT_OLLAMA_CHAT,     // "message": {"role", "content", "thinking", "tool_calls"}
    GLINT_OLLAMA_GENERATE, // "response", "thinking"
};

// Reads stream (true unless said otherwise) and model of the request. False after filling error.
bool glint_ollama_voice_open(struct glint_voice **voice, const struct glint_json *root,
                             const struct glint_exchange *exchange, enum glint_ollama_kind kind,
                             struct glint_api_error *error);
// The answer to a request without a question, which asks for the model to be loaded. It is.
void glint_ollama_answer_load(struct glint_exchange *exchange, const struct glint_json *root,
                              enum glint_ollama_kind kind);

#endif
