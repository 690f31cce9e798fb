// SPDX-License-Identifier: Apache-2.0
// head.c — residual rows to logits (model.md A.3, steps 4 to 6): multiplier first, cap second.
// A drafter's logits stay bare (D.2).
#include "layer/layer.h"

void glint_head(struct glint_forward *forward, int n) {
    const struct glint_model *model = forward->model;
    const struct glint_config *config = &model->config;
    struct glint_backend *backend = model->backend;
    backend->ops.rms_norm(backend, &(struct glint_op_rms_norm){.out = forward->x,
                                                               .x = forward->h,
                                                               .gain = model->output_norm,
                                                               .epsilon = config->rms_epsilon,
                                                               .n = n,
                                                               .width = config->width});
    glint_layer_product(forward, &(struct glint_op_matmul){.x = forward->x,
                                                           .n = n,
                                                           .n_matrix = 1,
                                                           .w = {&model->output},
                                                           .out = {forward->logits},
                                                           .exact = forward->exact});
    if (config->block > 0)
        return;
    backend->ops.softcap(backend, &(struct glint_op_softcap){.x = forward->logits,
                                                             .count = (int64_t)n * config->n_vocab,
                                                             .scale = config->logit_scale,
                                                             .cap = config->logit_softcap});
}
