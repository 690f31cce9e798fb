// SPDX-License-Identifier: Apache-2.0
// attention.c — the attention branch of a layer (model.md A.3, steps 2 to 10).
// Sliding layers rotate and see a window; full layers do neither. Both read keys and values back
// from the cache after rounding, the current row's included (NC-5).
#include "layer/layer.h"

#include <math.h>

static const float *rotation(const struct glint_forward *forward, int i_layer) {
    return forward->model->config.sliding[i_layer] ? forward->model->inv_freq : NULL;
}

static void norm_heads(struct glint_forward *forward, int i_layer, float *x, int n_head,
                       const struct glint_layer_rows *rows) {
    const struct glint_layer *layer = &forward->model->layer[i_layer];
    struct glint_backend *backend = forward->model->backend;
    backend->ops.head_norm_rope(backend,
                                &(struct glint_op_head_norm_rope){
                                    .x = x,
                                    .gain = x == forward->k ? layer->k_norm : layer->q_norm,
                                    .inv_freq = rotation(forward, i_layer),
                                    .position = rows->position,
                                    .epsilon = forward->model->config.rms_epsilon,
                                    .n = rows->n,
                                    .n_head = n_head,
                                    .head_dim = forward->model->config.head_dim,
                                    .halves = forward->model->config.block > 0,
                                });
}

static void store(struct glint_forward *forward, int i_layer, const struct glint_layer_rows *rows) {
    const struct glint_config *config = &forward->model->config;
    struct glint_backend *backend = forward->model->backend;
    norm_heads(forward, i_layer, forward->k, config->n_head_kv, rows);
    backend->ops.kv_store(backend,
                          &(struct glint_op_kv_store){
                              .plane = glint_kv_plane(forward->kv, config->sliding[i_layer]),
                              .i_layer = config->i_class[i_layer],
                              .k = forward->k,
                              .v = forward->v,
                              .ref = rows->ref,
                              .n = rows->n,
                          });
}

// From projected q and gate to the residual stream.
static void finish(struct glint_forward *forward, int i_layer,
                   const struct glint_layer_rows *rows) {
    const struct glint_config *config = &forward->model->config;
    const struct glint_layer *layer = &forward->model->layer[i_layer];
    struct glint_backend *backend = forward->model->backend;
    bool sliding = config->sliding[i_layer];
    norm_heads(forward, i_layer, forward->q, config->n_head, rows);
    backend->ops.attention(backend, &(struct glint_op_attention){
                                        .out = forward->a,
                                        .q = forward->q,
                                        .plane = glint_kv_plane(forward->kv, sliding),
                                        .i_layer = config->i_class[i_layer],
                                        .ref = rows->ref,
                                        .n = rows->n,
                                        .n_head = config->n_head,
                                        .window = sliding ? config->window : 0,
                                        .scale = 1.0f / sqrtf((float)config->head_dim),
                                    });
    int64_t count = (int64_t)rows->n * config->n_head * config->head_dim;
    if (layer->gate.data)
        backend->ops.gate(
            backend, &(struct glint_op_gate){.a = forward->a, .g = forward->g, .count = count});
    glint_layer_product(forward, &(struct glint_op_matmul){.x = forward->a,
                                                           .n = rows->n,
                                                           .n_matrix = 1,
                                                           .w = {&layer->o},
                                                           .out = {forward->y},
                                                           .exact = forward->exact});
    glint_residual(forward, layer->post_attn_norm, rows->n);
}

void glint_attention(struct glint_forward *forward, int i_layer,
                     const struct glint_layer_rows *rows) {
    const struct glint_layer *layer = &forward->model->layer[i_layer];
    glint_layer_product(
        forward, &(struct glint_op_matmul){.x = forward->x,
                                           .n = rows->n,
                                           .n_matrix = layer->gate.data ? 4 : 3,
                                           .w = {&layer->q, &layer->k, &layer->v, &layer->gate},
                                           .out = {forward->q, forward->k, forward->v, forward->g},
                                           .exact = forward->exact});
    store(forward, i_layer, rows);
    finish(forward, i_layer, rows);
}

void glint_attention_store(struct glint_forward *forward, int i_layer,
                           const struct glint_layer_rows *rows) {
    const struct glint_layer *layer = &forward->model->layer[i_layer];
    glint_layer_product(forward, &(struct glint_op_matmul){.x = forward->x,
                                                           .n = rows->n,
                                                           .n_matrix = 2,
                                                           .w = {&layer->k, &layer->v},
                                                           .out = {forward->k, forward->v},
                                                           .exact = forward->exact});
    store(forward, i_layer, rows);
}

void glint_attention_apply(struct glint_forward *forward, int i_layer,
                           const struct glint_layer_rows *rows) {
    const struct glint_layer *layer = &forward->model->layer[i_layer];
    glint_layer_product(forward, &(struct glint_op_matmul){.x = forward->x,
                                                           .n = rows->n,
                                                           .n_matrix = layer->gate.data ? 2 : 1,
                                                           .w = {&layer->q, &layer->gate},
                                                           .out = {forward->q, forward->g},
                                                           .exact = forward->exact});
    finish(forward, i_layer, rows);
}
