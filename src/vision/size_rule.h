// SPDX-License-Identifier: Apache-2.0
// size_rule.h — the size at which a picture is looked at (model.md C.2): a whole number of tokens
// each way, as near its own size and shape as the cap allows.
#ifndef GLINT_VISION_SIZE_RULE_H
#define GLINT_VISION_SIZE_RULE_H

#include <stdint.h>

// Tokens along height and width; one token is a square of `unit` pixels. The product exceeds
// max_tokens only for extreme shapes. height, width, unit and max_tokens are at least 1.
struct glint_token_grid {
    int64_t rows, cols;
};
struct glint_token_grid glint_token_grid_of(int64_t height, int64_t width, int unit,
                                            int64_t max_tokens);

#endif
