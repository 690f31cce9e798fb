// SPDX-License-Identifier: Apache-2.0
// forward.h — one step of the model over a flat batch: rows in, logits out.
// Written once for all backends; everything it computes is an op of op/op.h.
#ifndef GLINT_LAYER_FORWARD_H
#define GLINT_LAYER_FORWARD_H

#include "batch/batch.h"
#include "model/model.h"

// Looks at hidden rows during a step. k = 0: the normed embeddings; 1 <= k < n_layer: the output
// of layer k - 1; k = n_layer: the last layer's output after the final norm, present only for
// rows whose logits are wanted.
struct glint_tap {
    void (*rows)(void *context, int k, const float *device_rows, int n); // NULL: nobody looks
    // After every matrix product of the step; NULL: nobody looks.
    void (*product)(void *context, const struct glint_op_matmul *op);
    void *context;
};

struct glint_forward {
    const struct glint_model *model;
    struct glint_kv *kv;
    bool exact; // float activations in matrix products
    int max_rows, max_want;
    char *block;                 // device scratch behind the pointers below
    float *h, *x;                // [max_rows, width] residual stream, normed rows
    float *q, *g;                // [max_rows, n_head * head_dim]
    float *a;                    // [max_rows, n_head * head_dim] attention output
    float *k, *v;                // [max_rows, n_head_kv * head_dim]
    float *y;                    // [max_rows, width] branch output
    float *ff, *up;              // [max_rows, n_ff]
    float *logits;               // [max_want, n_vocab]
    const struct glint_tap *tap; // of the running step, or NULL
};

// Bytes of scratch for these sizes.
uint64_t glint_forward_bytes(const struct glint_config *config, int max_rows, int max_want);

// model and kv are borrowed and outlive the forward. max_want: most logits rows of one step.
enum glint_status glint_forward_init(struct glint_forward *forward, const struct glint_model *model,
                                     struct glint_kv *kv, int max_rows, int max_want,
                                     struct glint_error *err);
void glint_forward_fini(struct glint_forward *forward);

// Runs the placed batch. Afterwards forward->logits holds [batch->n_want, n_vocab]. Allocates
// nothing. The caller syncs the backend before it reads. tap may be NULL.
void glint_forward_step(struct glint_forward *forward, const struct glint_batch *batch,
                        const struct glint_tap *tap);

#endif
