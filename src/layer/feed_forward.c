// SPDX-License-Identifier: Apache-2.0
// feed_forward.c — the feed-forward branch of a layer (model.md A.3, steps 11 to 13).
#include "layer/layer.h"

void glint_feed_forward(struct glint_forward *forward, int i_layer, int n) {
    const struct glint_config *config = &forward->model->config;
    const struct glint_layer *layer = &forward->model->layer[i_layer];
    struct glint_backend *backend = forward->model->backend;
    backend->ops.rms_norm(backend, &(struct glint_op_rms_norm){.out = forward->x,
                                                               .x = forward->h,
                                                               .gain = layer->ffn_norm,
                                                               .epsilon = config->rms_epsilon,
                                                               .n = n,
                                                               .width = config->width});
    glint_layer_product(forward, &(struct glint_op_matmul){.x = forward->x,
                                                           .n = n,
                                                           .n_matrix = 2,
                                                           .w = {&layer->ffn_gate, &layer->ffn_up},
                                                           .out = {forward->ff, forward->up},
                                                           .exact = forward->exact});
    backend->ops.swiglu(backend, &(struct glint_op_swiglu){.gate = forward->ff,
                                                           .up = forward->up,
                                                           .count = (int64_t)n * config->n_ff});
    glint_layer_product(forward, &(struct glint_op_matmul){.x = forward->ff,
                                                           .n = n,
                                                           .n_matrix = 1,
                                                           .w = {&layer->ffn_down},
                                                           .out = {forward->y},
                                                           .exact = forward->exact});
    glint_residual(forward, layer->post_ffn_norm, n);
}
