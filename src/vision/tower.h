// SPDX-License-Identifier: Apache-2.0
// tower.h — pictures to rows of the token stream: patches, the tower's layers, the 2 x 2 merge and
// the projector (model.md C.4 to C.7). Everything it computes is an op of op/op.h.
#ifndef GLINT_VISION_TOWER_H
#define GLINT_VISION_TOWER_H

#include "model/vision_model.h"
#include "vision/patch_grid.h"

enum { GLINT_TOWER_ROWS = 512 }; // patches in one op

// One picture, of whole tokens each way.
struct glint_tower_job {
    const struct glint_vision_model *model;
    const uint8_t *rgb;  // [height, width, 3]
    const uint8_t *next; // the second frame of a pair in a video, or NULL: a still picture
    int height, width;   // pixels: multiples of patch * 2
    bool exact;          // float activations in matrix products
    float *features;     // out [tokens, n_text]: rows before the decoder's entry norm
    float *merged;       // out [tokens, 4 * width] what enters the projector, or NULL
    // Work done of all work, in units of its own; true stops. May be NULL.
    bool (*step)(void *user, int64_t done, int64_t total);
    void *user;
};

// Bytes that a picture of n_patch patches takes while it is computed.
uint64_t glint_tower_bytes(const struct glint_vision_config *config, int64_t n_patch);
// What a backend must be opened for.
struct glint_backend_limits glint_tower_limits(const struct glint_vision_config *config);
// GLINT_E_CANCELLED when step said so.
enum glint_status glint_tower_run(const struct glint_tower_job *job, struct glint_error *err);

// Values of a patch of frame 0 or 1: out [3 * patch * patch], channel, row, column. The two frames
// of a still picture are the same.
void glint_tower_patch(const struct glint_tower_job *job, int frame, struct glint_patch patch,
                       float *out);

#endif
