// SPDX-License-Identifier: Apache-2.0
// anthropic_messages.h — Anthropic's messages.
#ifndef GLINT_SERVER_ANTHROPIC_MESSAGES_H
#define GLINT_SERVER_ANTHROPIC_MESSAGES_H

#include "server/chat_job.h"

void glint_anthropic_messages(struct glint_exchange *exchange); // POST /v1/messages
void glint_anthropic_count(struct glint_exchange *exchange);    // POST /v1/messages/count_tokens
// The fields of a request. False after filling error. job's strings live as long as root.
bool glint_anthropic_read(struct glint_chat_job *job, const struct glint_json *root,
                          const struct glint_request_defaults *defaults,
                          struct glint_api_error *error);

#endif
