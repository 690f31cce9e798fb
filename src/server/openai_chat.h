// SPDX-License-Identifier: Apache-2.0
// openai_chat.h — OpenAI's chat completions.
#ifndef GLINT_SERVER_OPENAI_CHAT_H
#define GLINT_SERVER_OPENAI_CHAT_H

#include "server/chat_job.h"

// POST /v1/chat/completions
void glint_openai_chat(struct glint_exchange *exchange);
// The fields of a request. False after filling error. job's strings live as long as root.
bool glint_openai_chat_read(struct glint_chat_job *job, const struct glint_json *root,
                            const struct glint_request_defaults *defaults,
                            struct glint_api_error *error);

#endif
