// SPDX-License-Identifier: Apache-2.0
// call_memory.h — turns that called tools, as the ids they were sampled with, found again by the
// calls' ids. A client sends such a turn back as JSON, spelled its own way; rendered from that it
// would be other tokens than the ones in the cache, and what follows would be evaluated again.
// Also the date with which a conversation began, so that midnight does not change its prompt.
// Bounded: what was used longest ago is forgotten. Any thread.
#ifndef GLINT_SERVER_CALL_MEMORY_H
#define GLINT_SERVER_CALL_MEMORY_H

#include "format/json.h"

#include <glint/glint.h>

struct glint_call_memory;

enum glint_status glint_call_memory_open(struct glint_call_memory **memory, size_t max_bytes,
                                         struct glint_error *err);
void glint_call_memory_close(struct glint_call_memory **memory);

// A turn: calls is a JSON list of {"id", "name", "arguments"}, ids without a protocol's prefix;
// content what it said beside them; ids [n] what was sampled, through <|eot|>. Without memory it is
// not remembered.
void glint_call_memory_put(struct glint_call_memory *memory, uint64_t tenant,
                           struct glint_view calls, struct glint_view content, const int32_t *ids,
                           size_t n);
// The turn that a client's assistant message repeats: the same calls with the same names and
// arguments (in any spelling and order of keys), and the same content or none. False when it is
// unknown or another. ids is a copy.
bool glint_call_memory_find(struct glint_call_memory *memory, uint64_t tenant,
                            const struct glint_json *message, struct glint_ids *ids);

// The date that a conversation's prompt shows: `today` when it begins (no answer in it yet) or is
// not known, else the date it began with. date holds 16 bytes.
void glint_call_memory_date(struct glint_call_memory *memory, uint64_t tenant,
                            const struct glint_json *messages, const char *today, char *date);

#endif
