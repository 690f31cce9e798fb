// SPDX-License-Identifier: Apache-2.0
// vocab_build.h — filling a vocabulary, for vocab.c only.
#ifndef GLINT_TOKEN_VOCAB_BUILD_H
#define GLINT_TOKEN_VOCAB_BUILD_H

#include "token/vocab_state.h"

// Fills an all-zero vocabulary, the dialect excepted. On failure it may be half filled: close it.
enum glint_status glint_vocab_build(struct glint_vocab *vocab,
                                    const struct glint_vocab_source *source,
                                    struct glint_error *err);

#endif
