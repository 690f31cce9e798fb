// SPDX-License-Identifier: Apache-2.0
// drafter.h — the DFlash drafter of one file (model.md D, B.4): its numbers, checked against the
// target it is to serve, and its weights. To layer/ it is a model like any other, with blocks; what
// it adds is the projection of the target's hidden rows to context rows.
#ifndef GLINT_DRAFT_DRAFTER_H
#define GLINT_DRAFT_DRAFTER_H

#include "model/model.h"

enum {
    GLINT_DRAFT_TAPS = 64,      // target layers read at most
    GLINT_DRAFT_BLOCK_MAX = 32, // rows of a block at most
};

struct glint_drafter_config {
    struct glint_config base; // block > 0; window counts the row itself: the file's plus one
    int n_tap;
    int tap[GLINT_DRAFT_TAPS]; // target layers whose input is read, ascending, from 1 on
    int32_t mask_id;           // stands for a token to be guessed
};

// Fails naming key, what was found and what was expected, of both files where they disagree.
enum glint_status glint_drafter_config_read(struct glint_drafter_config *config,
                                            const struct glint_gguf *gguf,
                                            const struct glint_config *target,
                                            const struct glint_gguf *target_gguf,
                                            struct glint_error *err);

struct glint_drafter {
    struct glint_drafter_config config;
    struct glint_model model;  // layers without gate and post norms; embed and output: target's
    struct glint_matrix fc;    // [W, n_tap * W] hidden rows to context
    const float *context_norm; // [W]
};

// Binds every tensor of the file, refuses others. All pointers are borrowed and outlive the
// drafter. Works on an empty (zeroed) drafter.
enum glint_status glint_drafter_open(struct glint_drafter *drafter,
                                     const struct glint_drafter_config *config,
                                     const struct glint_gguf *gguf,
                                     const struct glint_model *target, struct glint_error *err);
void glint_drafter_close(struct glint_drafter *drafter);

#endif
