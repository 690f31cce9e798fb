// SPDX-License-Identifier: Apache-2.0
// model.h — the weights of one model bound to typed slots: the whole mental model on a page.
// Shapes are [outputs, inputs]; W = width, F = n_ff, Q = n_head * head_dim, K = n_head_kv *
// head_dim, V = n_vocab. Matrices stay in the mapped file; vectors are float32 on the device.
#ifndef GLINT_MODEL_MODEL_H
#define GLINT_MODEL_MODEL_H

#include "model/config.h"
#include "op/backend.h"

struct glint_layer {
    const float *attn_norm;       // [W]    before attention, epsilon of the file
    struct glint_matrix q;        // [Q, W]
    struct glint_matrix k;        // [K, W]
    struct glint_matrix v;        // [K, W]
    struct glint_matrix gate;     // [Q, W] sigmoid gate on the attention output
    const float *q_norm;          // [head_dim], one constant (3.87)
    const float *k_norm;          // [head_dim], ones
    struct glint_matrix o;        // [W, Q]
    const float *post_attn_norm;  // [W]    on the branch output, epsilon 1e-8
    const float *ffn_norm;        // [W]
    struct glint_matrix ffn_gate; // [F, W]
    struct glint_matrix ffn_up;   // [F, W]
    struct glint_matrix ffn_down; // [W, F]
    const float *post_ffn_norm;   // [W]
};

struct glint_model {
    struct glint_config config;
    const struct glint_gguf *gguf; // borrowed; outlives the model
    struct glint_backend *backend; // borrowed; outlives the model
    struct glint_matrix embed;     // [V, W]
    struct glint_matrix output;    // [V, W]
    const float *output_norm;      // [W]
    const float *inv_freq;         // [head_dim / 2], base^(-2i / head_dim) in float32
    struct glint_layer *layer;     // [n_layer]
    float *vectors;                // device block behind every float pointer above
    uint64_t weight_bytes;         // of all tensors in the file
};

// Binds every tensor of the file. Refuses missing, misshapen, unknown and unsupported tensors,
// learned QK norms and vectors that are not finite. gguf and backend are borrowed.
enum glint_status glint_model_open(struct glint_model *model, const struct glint_gguf *gguf,
                                   struct glint_backend *backend, struct glint_error *err);
void glint_model_close(struct glint_model *model);

// Name of the tensor behind a matrix of this model ("blk.0.attn_q.weight"); NULL for others.
const char *glint_model_matrix_name(const struct glint_model *model,
                                    const struct glint_matrix *matrix);

#endif
