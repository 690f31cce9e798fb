// SPDX-License-Identifier: Apache-2.0
// token_fixture.h — the excerpt of the released vocabulary, and files of one JSON object a line.
#ifndef GLINT_TESTS_TOKEN_FIXTURE_H
#define GLINT_TESTS_TOKEN_FIXTURE_H

#include "format/json.h"
#include "token/encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// tests/fixtures/chat/vocab_subset.json under its real ids, holes between them. Without merges
// the pairs are ranked by token id. Fails the test when it cannot be built.
struct glint_vocab *token_fixture_vocab(bool with_merges);

// Calls fn for each line; returns how many there were.
typedef void (*token_fixture_fn)(const struct glint_json *line, void *context);
int token_fixture_lines(const char *path, token_fixture_fn fn, void *context);

// The string of a member; fails the test when there is none.
struct glint_view token_fixture_text(const struct glint_json *object, const char *key);
// Fails the test, naming `what`, when the ids differ from the array `wanted`.
void token_fixture_check_ids(const struct glint_encoding *encoding, const struct glint_json *wanted,
                             struct glint_view what);
// Encodes into an encoding that was cleared first; fails the test on an error.
void token_fixture_encode(const struct glint_vocab *vocab, struct glint_encode_input input,
                          struct glint_encoding *encoding);
// Decodes without any repair: the bytes of all ids, specials spelled out.
void token_fixture_join(const struct glint_vocab *vocab, const struct glint_encoding *encoding,
                        struct glint_buffer *out);

// Pseudo-random numbers, the same on every machine: [0, n).
uint32_t token_fixture_random(uint64_t *state, uint32_t n);

#endif
