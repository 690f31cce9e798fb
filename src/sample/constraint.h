// SPDX-License-Identifier: Apache-2.0
// constraint.h — a grammar followed token by token, with the mask of what may come next.
// The states after each accepted token are kept, so taking tokens back is dropping states: a
// check of a draft accepts row by row, asks for each row's mask, and rewinds.
#ifndef GLINT_SAMPLE_CONSTRAINT_H
#define GLINT_SAMPLE_CONSTRAINT_H

#include "sample/token_mask.h"

enum { GLINT_CONSTRAINT_MAX_REWIND = 256 }; // accepted tokens that can be taken back

struct glint_constraint_rules {
    struct glint_grammar *grammar; // handed over, also on failure
    bool has_budget;               // limit on reasoning
    size_t budget;                 // ordinary tokens in messages to self
};

// The space must outlive the constraint.
enum glint_status glint_constraint_init(struct glint_constraint **constraint,
                                        struct glint_mask_space *space,
                                        const struct glint_constraint_rules *rules,
                                        struct glint_error *err);

#endif
