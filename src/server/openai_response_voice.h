// SPDX-License-Identifier: Apache-2.0
// openai_response_voice.h — what a response sounds like.
#ifndef GLINT_SERVER_OPENAI_RESPONSE_VOICE_H
#define GLINT_SERVER_OPENAI_RESPONSE_VOICE_H

#include "server/openai_responses.h"

// Takes over request->inputs. False after filling error.
bool glint_response_voice_open(struct glint_voice **voice, struct glint_responses_request *request,
                               const struct glint_json *root, const struct glint_exchange *exchange,
                               struct glint_api_error *error);

#endif
