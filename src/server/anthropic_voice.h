// SPDX-License-Identifier: Apache-2.0
// anthropic_voice.h — what an answer sounds like in Anthropic's protocol.
#ifndef GLINT_SERVER_ANTHROPIC_VOICE_H
#define GLINT_SERVER_ANTHROPIC_VOICE_H

#include "server/chat_job.h"

// Reads stream and model of the request. False after filling error.
bool glint_anthropic_voice_open(struct glint_voice **voice, const struct glint_json *root,
                                const struct glint_exchange *exchange,
                                struct glint_api_error *error);

#endif
