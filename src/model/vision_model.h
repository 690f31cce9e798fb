// SPDX-License-Identifier: Apache-2.0
// vision_model.h — the weights of a vision tower and its projector bound to typed slots. Shapes
// are [outputs, inputs]; W = width, F = n_ff, A = n_adapter, T = n_text. Matrices stay in the
// mapped file; vectors are float32 on the device, the position table float32 on the host.
#ifndef GLINT_MODEL_VISION_MODEL_H
#define GLINT_MODEL_VISION_MODEL_H

#include "model/vision_config.h"
#include "op/backend.h"

struct glint_vision_norm {
    const float *gain, *bias; // [W]
};

struct glint_vision_linear {
    struct glint_matrix weight;
    const float *bias; // [outputs]
};

struct glint_vision_layer {
    struct glint_vision_norm ln1, ln2;
    struct glint_vision_linear q, k, v, o; // [W, W]
    struct glint_vision_linear up;         // [F, W]
    struct glint_vision_linear down;       // [W, F]
};

struct glint_vision_model {
    struct glint_vision_config config;
    const struct glint_gguf *gguf; // borrowed; outlives the model
    struct glint_backend *backend; // borrowed; outlives the model
    struct glint_matrix patch;     // [W, 3 * patch * patch]: channel, row, column
    struct glint_matrix frames;    // [W, 2 * 3 * patch * patch] the same of two frames, or no data
    float *position;               // host [side * side, W]
    struct glint_vision_norm pre, post;
    struct glint_vision_layer *layer; // [n_layer]
    struct glint_matrix adapter[3];   // [A, 4 W], [A, A], [T, A]
    float *vectors;                   // device block behind the vectors
    uint64_t weight_bytes;            // of all tensors in the file
};

// Binds every tensor of the file; refuses missing, misshapen, unknown and unsupported ones and
// vectors that are not finite. gguf and backend are borrowed.
enum glint_status glint_vision_model_open(struct glint_vision_model *model,
                                          const struct glint_vision_config *config,
                                          const struct glint_gguf *gguf,
                                          struct glint_backend *backend, struct glint_error *err);
void glint_vision_model_close(struct glint_vision_model *model);

#endif
