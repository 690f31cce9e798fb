// SPDX-License-Identifier: Apache-2.0
// layer.h — the parts of a decoder layer, for forward.c and the drafter's context rows.
#ifndef GLINT_LAYER_LAYER_H
#define GLINT_LAYER_LAYER_H

#include "layer/forward.h"

// What a layer works on: all rows of the batch, or in the last layer only those whose logits
// are wanted.
struct glint_layer_rows {
    int n;
    const int32_t *position;        // [n]
    const struct glint_kv_ref *ref; // [n] in the layer's class
};

// Every matrix product of a step: does it, then shows it to the tap.
void glint_layer_product(struct glint_forward *forward, const struct glint_op_matmul *op);

// k and v of every row of the batch, from forward->x, into the cache.
void glint_attention_store(struct glint_forward *forward, int i_layer,
                           const struct glint_layer_rows *rows);
// q, gate, attention, output projection and residual: forward->x (normed), forward->h updated.
void glint_attention_apply(struct glint_forward *forward, int i_layer,
                           const struct glint_layer_rows *rows);
// Both of the above with one shared product for q, k, v and gate (which a drafter lacks).
void glint_attention(struct glint_forward *forward, int i_layer,
                     const struct glint_layer_rows *rows);
// forward->h += forward->y, n rows, through the post norm where the layer has one.
void glint_residual(struct glint_forward *forward, const float *post_norm, int n);
// The feed-forward branch on n rows of forward->h.
void glint_feed_forward(struct glint_forward *forward, int i_layer, int n);
// Final norm, output matrix and cap on n rows of forward->h; forward->x keeps the normed rows.
void glint_head(struct glint_forward *forward, int n);

#endif
