// SPDX-License-Identifier: Apache-2.0
// native_completion.h — llama.cpp's own way of asking for text, and its view of the sequences.
#ifndef GLINT_SERVER_NATIVE_COMPLETION_H
#define GLINT_SERVER_NATIVE_COMPLETION_H

#include "server/exchange.h"

void glint_native_completion(struct glint_exchange *exchange);
// "/completions" without "/v1", which is llama.cpp's to some clients and OpenAI's to others: only
// the former send n_predict.
void glint_native_completions(struct glint_exchange *exchange);
// The sequences, to look at.
void glint_native_slots(struct glint_exchange *exchange);
// Saving and restoring them, which is refused.
void glint_native_slot_action(struct glint_exchange *exchange);

#endif
