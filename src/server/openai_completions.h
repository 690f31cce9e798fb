// SPDX-License-Identifier: Apache-2.0
// openai_completions.h — OpenAI's plain completions: text goes on, without a template.
#ifndef GLINT_SERVER_OPENAI_COMPLETIONS_H
#define GLINT_SERVER_OPENAI_COMPLETIONS_H

#include "server/chat_job.h"

// POST /v1/completions
void glint_openai_completions(struct glint_exchange *exchange);

#endif
