// SPDX-License-Identifier: Apache-2.0
// draft.c — see draft.h. For each sequence, with n tokens held by the target: positions
// [0, c) are in the drafter's cache, [c, n) wait in the buffer, at most WAITING of them.
#include "draft/draft.h"

#include "base/alloc.h"
#include "batch/kv_ring.h"
#include "layer/layer.h"

enum {
    WAITING = 2 * GLINT_DRAFT_BLOCK_MAX, // rows of a sequence that can wait for their projection
    MAX_BLOCKS = 4,                      // sequences drafted for in one pass
};

struct glint_draft {
    struct glint_draft_params params;
    struct glint_drafter drafter;
    struct glint_backend *backend;
    struct glint_kv *kv;
    struct glint_forward forward;
    struct glint_batch batch;
    int n_feature;  // floats of a hidden row: n_tap * width
    float *step;    // device [max_rows, n_feature] hidden rows of the last target step
    float *waiting; // device [n_sequence, WAITING, n_feature]
    int32_t *best;  // device [max_want]
    int32_t *ids;   // host [max_want]
    struct glint_tap tap;
    const struct glint_tap *other; // of the running target step
};

static int max_blocks(const struct glint_draft_params *params) {
    return params->n_sequence < MAX_BLOCKS ? params->n_sequence : MAX_BLOCKS;
}

static int max_rows(const struct glint_drafter_config *config,
                    const struct glint_draft_params *params) {
    int rows = config->base.block * max_blocks(params);
    return rows > WAITING ? rows : WAITING;
}

// The ring reaches as far back as the target's does for any cut that the target allows: it holds
// the longer window, the same slack, a block, and two pages since rings turn over by pages.
static struct glint_kv_params kv_params(const struct glint_drafter_config *config,
                                        const struct glint_draft_params *params) {
    int more = config->base.window - params->window;
    int n_context = params->n_context + config->base.block;
    return (struct glint_kv_params){
        .n_sequence = params->n_sequence,
        .n_context = n_context,
        .n_cell = n_context,
        .max_rows = WAITING,
        .slack =
            params->slack + config->base.block + 2 * GLINT_KV_PAGE_ROWS + (more < 0 ? -more : 0),
        .full_k = params->dtype_k,
        .full_v = params->dtype_v,
        .sliding_k = params->dtype_k,
        .sliding_v = params->dtype_v,
    };
}

static size_t n_feature_of(const struct glint_drafter_config *config) {
    return (size_t)config->n_tap * (size_t)config->base.width;
}

static void raise(int *limit, int value) {
    *limit = value > *limit ? value : *limit;
}

void glint_draft_limits(const struct glint_drafter_config *config,
                        const struct glint_draft_params *params,
                        struct glint_backend_limits *limits) {
    const struct glint_config *base = &config->base;
    raise(&limits->max_rows, max_rows(config, params));
    raise(&limits->max_col, config->n_tap * base->width);
    raise(&limits->max_col, base->n_ff);
    raise(&limits->max_col, base->n_head * base->head_dim);
    raise(&limits->max_head, base->n_head);
    raise(&limits->max_context, params->n_context + base->block);
    raise(&limits->head_dim, base->head_dim);
}

uint64_t glint_draft_bytes(const struct glint_drafter_config *config,
                           const struct glint_draft_params *params) {
    struct glint_kv_params kv = kv_params(config, params);
    uint64_t rows = (uint64_t)params->max_rows + (uint64_t)params->n_sequence * WAITING;
    return glint_kv_bytes(&config->base, &kv) +
           glint_forward_bytes(&config->base, max_rows(config, params),
                               config->base.block * max_blocks(params)) +
           rows * n_feature_of(config) * sizeof(float);
}

static void look(void *context, int k, const float *device_rows, int n);

static void show_product(void *context, const struct glint_op_matmul *op) {
    struct glint_draft *draft = context;
    draft->other->product(draft->other->context, op);
}

static enum glint_status open_parts(struct glint_draft *draft,
                                    const struct glint_drafter_config *config,
                                    const struct glint_gguf *gguf, const struct glint_model *target,
                                    struct glint_error *err) {
    const struct glint_draft_params *params = &draft->params;
    struct glint_kv_params kv = kv_params(config, params);
    int max_want = config->base.block * max_blocks(params), rows = max_rows(config, params);
    size_t n_row = (size_t)params->max_rows, n_sequence = (size_t)params->n_sequence;
    size_t row_bytes = n_feature_of(config) * sizeof(float);
    draft->backend = target->backend;
    draft->n_feature = (int)n_feature_of(config);
    GLINT_TRY(glint_drafter_open(&draft->drafter, config, gguf, target, err));
    const struct glint_model *model = &draft->drafter.model;
    GLINT_TRY(glint_kv_open(&draft->kv, &model->config, draft->backend, &kv, err));
    GLINT_TRY(glint_forward_init(&draft->forward, model, draft->kv, rows, max_want, err));
    draft->forward.exact = params->exact;
    GLINT_TRY(glint_batch_init(&draft->batch, rows, err));
    draft->step = draft->backend->alloc(draft->backend, n_row * row_bytes);
    draft->waiting = draft->backend->alloc(draft->backend, n_sequence * WAITING * row_bytes);
    draft->best = draft->backend->alloc(draft->backend, (size_t)max_want * sizeof(int32_t));
    draft->ids = glint_alloc((size_t)max_want, sizeof(int32_t));
    if (!draft->step || !draft->waiting || !draft->best || !draft->ids)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory for the hidden rows", gguf->path);
    return GLINT_OK;
}

enum glint_status glint_draft_open(struct glint_draft **out,
                                   const struct glint_drafter_config *config,
                                   const struct glint_gguf *gguf, const struct glint_model *target,
                                   const struct glint_draft_params *params,
                                   struct glint_error *err) {
    *out = NULL;
    struct glint_draft *draft = glint_alloc(1, sizeof *draft);
    if (!draft)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", gguf->path);
    draft->params = *params;
    enum glint_status status = open_parts(draft, config, gguf, target, err);
    if (status != GLINT_OK)
        glint_draft_close(&draft);
    *out = draft;
    return status;
}

void glint_draft_close(struct glint_draft **draft_in) {
    struct glint_draft *draft = *draft_in;
    *draft_in = NULL;
    if (!draft)
        return;
    void *blocks[] = {draft->step, draft->waiting, draft->best};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i])
            draft->backend->free(draft->backend, blocks[i]);
    glint_free(draft->ids);
    glint_batch_fini(&draft->batch);
    glint_forward_fini(&draft->forward);
    glint_kv_close(&draft->kv);
    glint_drafter_close(&draft->drafter);
    glint_free(draft);
}

const struct glint_drafter *glint_draft_drafter(const struct glint_draft *draft) {
    return &draft->drafter;
}

int glint_draft_max(const struct glint_draft *draft) {
    return draft->drafter.config.base.block - 1;
}

// ---- following the target -------------------------------------------------------------------

static void look(void *context, int k, const float *device_rows, int n) {
    struct glint_draft *draft = context;
    const struct glint_drafter_config *config = &draft->drafter.config;
    for (int i = 0; i < config->n_tap; i++)
        if (config->tap[i] == k)
            draft->backend->ops.copy_rows(
                draft->backend,
                &(struct glint_op_copy_rows){.out = draft->step + (size_t)i * config->base.width,
                                             .x = device_rows,
                                             .n = n,
                                             .width = config->base.width,
                                             .out_stride = draft->n_feature,
                                             .x_stride = config->base.width});
    if (draft->other && draft->other->rows)
        draft->other->rows(draft->other->context, k, device_rows, n);
}

const struct glint_tap *glint_draft_watch(struct glint_draft *draft,
                                          const struct glint_tap *other) {
    draft->other = other;
    draft->tap = (struct glint_tap){
        .rows = look, .product = other && other->product ? show_product : NULL, .context = draft};
    return &draft->tap;
}

static float *waiting_rows(const struct glint_draft *draft, int i_sequence) {
    return draft->waiting + (size_t)i_sequence * WAITING * (size_t)draft->n_feature;
}

// Projects n hidden rows [n, n_feature], which follow the sequence's context, and stores their
// keys and values: the same projected row for every layer (model.md D.4).
static enum glint_status add_context(struct glint_draft *draft, int i_sequence, const float *rows,
                                     int n, struct glint_error *err) {
    struct glint_backend *backend = draft->backend;
    const struct glint_config *config = &draft->drafter.model.config;
    struct glint_forward *forward = &draft->forward;
    struct glint_batch *batch = &draft->batch;
    for (int at = 0, take; at < n; at += take) {
        take = n - at < WAITING ? n - at : WAITING;
        int length = glint_kv_length(draft->kv, i_sequence);
        glint_batch_clear(batch);
        for (int i = 0; i < take; i++)
            glint_batch_add(batch, i_sequence, length + i, 0, false);
        GLINT_TRY(glint_batch_place(batch, draft->kv, err));
        backend->ops.matmul(
            backend, &(struct glint_op_matmul){.x = rows + (size_t)at * (size_t)draft->n_feature,
                                               .n = take,
                                               .n_matrix = 1,
                                               .w = {&draft->drafter.fc},
                                               .out = {forward->y},
                                               .exact = forward->exact});
        backend->ops.rms_norm(backend,
                              &(struct glint_op_rms_norm){.out = forward->x,
                                                          .x = forward->y,
                                                          .gain = draft->drafter.context_norm,
                                                          .epsilon = config->rms_epsilon,
                                                          .n = take,
                                                          .width = config->width});
        for (int l = 0; l < config->n_layer; l++)
            glint_attention_store(forward, l,
                                  &(struct glint_layer_rows){take, batch->position, batch->ring});
        glint_batch_commit(batch, draft->kv);
    }
    return backend->sync(backend, err);
}

enum glint_status glint_draft_catch_up(struct glint_draft *draft, int i_sequence, int length,
                                       struct glint_error *err) {
    int n = length - glint_kv_length(draft->kv, i_sequence);
    GLINT_ASSERT(n >= 0 && n <= WAITING);
    return n > 0 ? add_context(draft, i_sequence, waiting_rows(draft, i_sequence), n, err)
                 : GLINT_OK;
}

enum glint_status glint_draft_keep(struct glint_draft *draft, const struct glint_batch *batch,
                                   struct glint_error *err) {
    int n_feature = draft->n_feature;
    for (int i = 0, n; i < batch->n; i += n) {
        int s = batch->sequence[i], first = batch->position[i];
        for (n = 1; i + n < batch->n && batch->sequence[i + n] == s;)
            n++;
        const float *rows = draft->step + (size_t)i * (size_t)n_feature;
        int n_waiting = first - glint_kv_length(draft->kv, s);
        bool many = n > GLINT_DRAFT_BLOCK_MAX; // a prefill; a round's rows are fewer
        if (many || n_waiting + n > WAITING) {
            GLINT_TRY(glint_draft_catch_up(draft, s, first, err));
            n_waiting = 0;
        }
        if (many) {
            GLINT_TRY(add_context(draft, s, rows, n, err));
            continue;
        }
        draft->backend->ops.copy_rows(
            draft->backend,
            &(struct glint_op_copy_rows){.out = waiting_rows(draft, s) +
                                                (size_t)n_waiting * (size_t)n_feature,
                                         .x = rows,
                                         .n = n,
                                         .width = n_feature,
                                         .out_stride = n_feature,
                                         .x_stride = n_feature});
    }
    return GLINT_OK;
}

void glint_draft_truncate(struct glint_draft *draft, int i_sequence, int length) {
    if (glint_kv_length(draft->kv, i_sequence) > length)
        glint_kv_truncate(draft->kv, i_sequence, length);
}

// ---- keeping and putting back ---------------------------------------------------------------

// Context rows that proposals after `length` tokens can see.
static int seen_rows(const struct glint_draft *draft, int length) {
    int most = draft->drafter.config.base.window - 1; // a row of the block sees itself too
    return length < most ? length : most;
}

uint64_t glint_draft_saved_bytes(const struct glint_drafter_config *config,
                                 const struct glint_draft_params *params) {
    struct glint_kv_plane plane = {.dtype_k = params->dtype_k,
                                   .dtype_v = params->dtype_v,
                                   .n_head_kv = config->base.n_head_kv,
                                   .head_dim = config->base.head_dim};
    return glint_kv_layer_bytes(&plane) / GLINT_KV_PAGE_ROWS * (uint64_t)config->base.n_layer *
           (uint64_t)config->base.window;
}

size_t glint_draft_context_bytes(const struct glint_draft *draft, int length) {
    return glint_kv_ring_bytes(draft->kv, seen_rows(draft, length));
}

enum glint_status glint_draft_save(struct glint_draft *draft, int i_sequence, int length, int held,
                                   void *bytes, struct glint_error *err) {
    GLINT_TRY(glint_draft_catch_up(draft, i_sequence, held, err));
    int n = seen_rows(draft, length), begin = glint_kv_ring_begin(draft->kv, i_sequence);
    GLINT_REQUIRE(length >= 0 && length <= held && (n == 0 || length - n >= begin), err);
    glint_kv_ring_read(draft->kv, i_sequence, draft->backend, length - n, n, bytes);
    return draft->backend->sync(draft->backend, err);
}

// Zeroes the context's rows [begin, end).
static enum glint_status clear_rows(struct glint_draft *draft, int i_sequence, int begin, int end,
                                    struct glint_error *err) {
    int n = end - begin;
    if (n <= 0)
        return GLINT_OK;
    void *zeros = glint_alloc(1, glint_kv_ring_bytes(draft->kv, n));
    if (!zeros)
        return glint_fail(err, GLINT_E_NOMEM, "drafter: no memory for %d rows", n);
    glint_kv_ring_write(draft->kv, i_sequence, draft->backend, begin, n, zeros);
    enum glint_status status = draft->backend->sync(draft->backend, err);
    glint_free(zeros);
    return status;
}

enum glint_status glint_draft_restore(struct glint_draft *draft, int i_sequence, int saved,
                                      int length, const void *bytes, struct glint_error *err) {
    int n = seen_rows(draft, saved);
    GLINT_REQUIRE(length >= 0 && length <= saved, err);
    glint_kv_truncate(draft->kv, i_sequence, 0);
    for (int at = 0, take; at < saved; at += take) {
        take = saved - at < WAITING ? saved - at : WAITING;
        GLINT_TRY(glint_kv_reserve(draft->kv, i_sequence, take, err));
        glint_kv_commit(draft->kv, i_sequence, take);
    }
    glint_kv_ring_write(draft->kv, i_sequence, draft->backend, saved - n, n, bytes);
    int begin = length - seen_rows(draft, length);
    int end = length < saved - n ? length : saved - n;
    GLINT_TRY(clear_rows(draft, i_sequence, begin, end, err));
    glint_draft_truncate(draft, i_sequence, length);
    return draft->backend->sync(draft->backend, err);
}

// ---- proposing ------------------------------------------------------------------------------

// Up to MAX_BLOCKS sequences: a block each, [anchor, mask, mask, ...], of which the first
// proposals' rows are wanted. The block's keys and values are scratch in the cache.
static enum glint_status propose_some(struct glint_draft *draft, const struct glint_draft_ask *asks,
                                      int n_ask, const struct glint_tap *tap,
                                      struct glint_error *err) {
    struct glint_batch *batch = &draft->batch;
    struct glint_backend *backend = draft->backend;
    const struct glint_drafter_config *config = &draft->drafter.config;
    glint_batch_clear(batch);
    for (int a = 0; a < n_ask; a++) {
        const struct glint_draft_ask *ask = &asks[a];
        GLINT_ASSERT(ask->length == glint_kv_length(draft->kv, ask->i_sequence));
        for (int i = 0; i < config->base.block; i++)
            glint_batch_add(batch, ask->i_sequence, ask->length + i,
                            i == 0 ? ask->anchor : config->mask_id,
                            i == 0 ? tap != NULL : i <= ask->n);
    }
    batch->mutual = true;
    enum glint_status status = glint_batch_place(batch, draft->kv, err);
    batch->mutual = false;
    GLINT_TRY(status);
    glint_forward_step(&draft->forward, batch, tap);
    backend->ops.best(backend, &(struct glint_op_best){.id = draft->best,
                                                       .x = draft->forward.logits,
                                                       .n = batch->n_want,
                                                       .width = config->base.n_vocab});
    backend->download(backend, draft->ids, draft->best, (size_t)batch->n_want * sizeof(int32_t));
    GLINT_TRY(backend->sync(backend, err));
    const int32_t *ids = draft->ids;
    for (int a = 0; a < n_ask; a++) {
        ids += tap != NULL;
        for (int i = 0; i < asks[a].n; i++)
            asks[a].ids[i] = *ids++;
    }
    return GLINT_OK;
}

enum glint_status glint_draft_propose(struct glint_draft *draft, const struct glint_draft_ask *asks,
                                      int n_ask, const struct glint_tap *tap,
                                      struct glint_error *err) {
    int most = max_blocks(&draft->params);
    for (int at = 0; at < n_ask; at += most)
        GLINT_TRY(propose_some(draft, asks + at, n_ask - at < most ? n_ask - at : most, tap, err));
    return GLINT_OK;
}
