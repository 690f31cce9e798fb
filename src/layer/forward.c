// SPDX-License-Identifier: Apache-2.0
// forward.c — read this first: the forward pass of Muse Glimmer (model.md A.3).
//
//   embed, entry norm → [ attention branch, feed-forward branch ] × n_layer → head
//
// The last layer needs keys and values of every row but everything else only of the rows whose
// logits are wanted, so it gathers those first. A row's value never depends on the rows beside
// it, so the gathering changes no bit.
//
// A drafter (model.md D) is a model of the same parts: its configuration has blocks, whose rows
// see each other, and it lacks the entry norm, the gate, the post norms and the cap.
#include "layer/forward.h"

#include "base/alloc.h"
#include "layer/layer.h"

enum { N_PART = 11 };

// Floats of every scratch array, in the order of struct glint_forward.
static void part_sizes(uint64_t part[N_PART], const struct glint_config *config, int max_rows,
                       int max_want) {
    uint64_t n = (uint64_t)max_rows;
    uint64_t q = (uint64_t)config->n_head * (uint64_t)config->head_dim;
    uint64_t k = (uint64_t)config->n_head_kv * (uint64_t)config->head_dim;
    uint64_t width = (uint64_t)config->width, ff = (uint64_t)config->n_ff;
    uint64_t sizes[N_PART] = {n * width,
                              n * width,
                              n * q,
                              n * q,
                              n * q,
                              n * k,
                              n * k,
                              n * width,
                              n * ff,
                              n * ff,
                              (uint64_t)max_want * (uint64_t)config->n_vocab};
    for (int i = 0; i < N_PART; i++)
        part[i] = (sizes[i] + 15) / 16 * 16; // every array starts on a cache line
}

uint64_t glint_forward_bytes(const struct glint_config *config, int max_rows, int max_want) {
    uint64_t part[N_PART], sum = 0;
    part_sizes(part, config, max_rows, max_want);
    for (int i = 0; i < N_PART; i++)
        sum += part[i] * sizeof(float);
    return sum;
}

enum glint_status glint_forward_init(struct glint_forward *forward, const struct glint_model *model,
                                     struct glint_kv *kv, int max_rows, int max_want,
                                     struct glint_error *err) {
    *forward = (struct glint_forward){
        .model = model, .kv = kv, .max_rows = max_rows, .max_want = max_want};
    uint64_t bytes = glint_forward_bytes(&model->config, max_rows, max_want);
    forward->block = model->backend->alloc(model->backend, (size_t)bytes);
    if (!forward->block)
        return glint_fail(err, GLINT_E_NOMEM, "scratch: no memory for %llu bytes",
                          (unsigned long long)bytes);
    uint64_t part[N_PART];
    part_sizes(part, &model->config, max_rows, max_want);
    float **slot[N_PART] = {&forward->h,  &forward->x,  &forward->q,     &forward->g,
                            &forward->a,  &forward->k,  &forward->v,     &forward->y,
                            &forward->ff, &forward->up, &forward->logits};
    float *next = (float *)(void *)forward->block;
    for (int i = 0; i < N_PART; i++) {
        *slot[i] = next;
        next += part[i];
    }
    return GLINT_OK;
}

void glint_forward_fini(struct glint_forward *forward) {
    if (forward->block)
        forward->model->backend->free(forward->model->backend, forward->block);
    *forward = (struct glint_forward){0};
}

// Token rows by lookup, ready rows (pictures) by copy; then the entry norm, which both kinds get
// and a drafter has not.
static void embed(struct glint_forward *forward, const struct glint_batch *batch) {
    const struct glint_model *model = forward->model;
    struct glint_backend *backend = model->backend;
    size_t width = (size_t)model->config.width;
    backend->ops.embed(
        backend, &(struct glint_op_embed){
                     .out = forward->h, .table = &model->embed, .id = batch->id, .n = batch->n});
    for (int i = 0; i < batch->n; i++)
        if (batch->feature[i])
            backend->upload(backend, forward->h + (size_t)i * width, batch->feature[i],
                            width * sizeof(float));
    if (model->config.block > 0)
        return;
    backend->ops.rms_norm(backend, &(struct glint_op_rms_norm){.out = forward->h,
                                                               .x = forward->h,
                                                               .gain = NULL,
                                                               .epsilon = model->config.rms_epsilon,
                                                               .n = batch->n,
                                                               .width = model->config.width});
}

static void pre_norm(struct glint_forward *forward, int i_layer, int n) {
    const struct glint_model *model = forward->model;
    model->backend->ops.rms_norm(
        model->backend, &(struct glint_op_rms_norm){.out = forward->x,
                                                    .x = forward->h,
                                                    .gain = model->layer[i_layer].attn_norm,
                                                    .epsilon = model->config.rms_epsilon,
                                                    .n = n,
                                                    .width = model->config.width});
}

// rows[i] = rows[index[i]] for ascending indices, through the scratch row array.
static void gather(struct glint_forward *forward, float *rows, float *scratch, int n_rows,
                   const int32_t *index, int n) {
    struct glint_backend *backend = forward->model->backend;
    int64_t width = forward->model->config.width;
    struct glint_matrix table = {.data = rows,
                                 .dtype = GLINT_DTYPE_F32,
                                 .n_row = n_rows,
                                 .n_col = width,
                                 .row_bytes = (size_t)width * sizeof(float)};
    backend->ops.embed(
        backend, &(struct glint_op_embed){.out = scratch, .table = &table, .id = index, .n = n});
}

static void last_layer(struct glint_forward *forward, const struct glint_batch *batch,
                       const struct glint_kv_ref *ref) {
    const struct glint_config *config = &forward->model->config;
    int i_layer = config->n_layer - 1, n = batch->n_want;
    struct glint_layer_rows all = {batch->n, batch->position, ref};
    pre_norm(forward, i_layer, batch->n);
    if (n == batch->n) {
        glint_attention(forward, i_layer, &all);
    } else {
        glint_attention_store(forward, i_layer, &all);
        if (n == 0)
            return;
        // Gathered rows land in y, which nobody uses before the output projection.
        gather(forward, forward->h, forward->y, batch->n, batch->want, n);
        float *old = forward->h;
        forward->h = forward->y;
        forward->y = old;
        pre_norm(forward, i_layer, n);
        struct glint_layer_rows some = {n, batch->want_position, batch->want_ref};
        for (int i = 0; i < n; i++) {
            batch->want_position[i] = batch->position[batch->want[i]];
            batch->want_ref[i] = ref[batch->want[i]];
        }
        glint_attention_apply(forward, i_layer, &some);
    }
    glint_feed_forward(forward, i_layer, n);
    glint_head(forward, n);
}

void glint_layer_product(struct glint_forward *forward, const struct glint_op_matmul *op) {
    struct glint_backend *backend = forward->model->backend;
    backend->ops.matmul(backend, op);
    if (forward->tap && forward->tap->product)
        forward->tap->product(forward->tap->context, op);
}

void glint_residual(struct glint_forward *forward, const float *post_norm, int n) {
    struct glint_backend *backend = forward->model->backend;
    int width = forward->model->config.width;
    if (post_norm)
        backend->ops.add_rms_norm(
            backend, &(struct glint_op_add_rms_norm){.h = forward->h,
                                                     .y = forward->y,
                                                     .gain = post_norm,
                                                     .epsilon = GLINT_POST_NORM_EPSILON,
                                                     .n = n,
                                                     .width = width});
    else
        backend->ops.add(backend, &(struct glint_op_add){
                                      .x = forward->h, .y = forward->y, .n = n, .width = width});
}

void glint_forward_step(struct glint_forward *forward, const struct glint_batch *batch,
                        const struct glint_tap *tap) {
    const struct glint_config *config = &forward->model->config;
    GLINT_ASSERT(batch->n >= 1 && batch->n <= forward->max_rows);
    GLINT_ASSERT(batch->n_want <= forward->max_want);
    bool look = tap && tap->rows;
    forward->tap = tap;
    embed(forward, batch);
    for (int l = 0; l < config->n_layer; l++) {
        if (look)
            tap->rows(tap->context, l, forward->h, batch->n);
        const struct glint_kv_ref *ref = config->sliding[l] ? batch->ring : batch->full;
        if (l == config->n_layer - 1) {
            last_layer(forward, batch, ref);
            break;
        }
        pre_norm(forward, l, batch->n);
        glint_attention(forward, l, &(struct glint_layer_rows){batch->n, batch->position, ref});
        glint_feed_forward(forward, l, batch->n);
    }
    if (look && batch->n_want)
        tap->rows(tap->context, config->n_layer, forward->x, batch->n_want);
    forward->tap = NULL;
}
