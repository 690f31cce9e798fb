// SPDX-License-Identifier: Apache-2.0
// kv.c — pages of the shared pool, rings of the slots, and the arithmetic of what they hold.
// Invariants: a pool page is free or in exactly one table; `top` is one past the newest position
// ever reserved since the slot was emptied, so the ring holds the pages up to (top - 1) / 256.
#include "batch/kv.h"

#include "base/alloc.h"

struct sequence {
    int length;    // committed positions
    int top;       // one past the newest reserved position
    int n_full;    // pool pages held
    int32_t *full; // [n_full_max] pool pages
    int32_t *ring; // [n_ring] ring pages, fixed
};

struct glint_kv {
    struct glint_kv_params params;
    struct glint_backend *backend;
    struct glint_kv_plane full, sliding;
    int window;
    int n_ring;     // ring pages of a slot
    int n_full_max; // pool pages a sequence can need
    int n_free;
    int32_t *free_page;        // [full.n_page], the first n_free are free
    int32_t *table;            // storage of every sequence's tables
    struct sequence *sequence; // [n_sequence]
};

static int pages_for(int n_rows) {
    return n_rows / GLINT_KV_PAGE_ROWS + (n_rows % GLINT_KV_PAGE_ROWS != 0);
}

// A step reads positions length - (window - 1) up to length + rows - 1; those lie on at most
// this many pages, wherever they begin.
static int ring_pages(const struct glint_config *config, const struct glint_kv_params *params) {
    int n = pages_for(config->window - 1 + params->slack) + 1;
    int all = pages_for(params->n_context);
    return n < all ? n : all;
}

static void init_planes(struct glint_kv_plane *full, struct glint_kv_plane *sliding,
                        const struct glint_config *config, const struct glint_kv_params *params) {
    *full = (struct glint_kv_plane){.dtype_k = params->full_k,
                                    .dtype_v = params->full_v,
                                    .n_layer = config->n_full,
                                    .n_head_kv = config->n_head_kv,
                                    .head_dim = config->head_dim};
    *sliding = *full;
    sliding->dtype_k = params->sliding_k;
    sliding->dtype_v = params->sliding_v;
    sliding->n_layer = config->n_sliding;
    full->page_bytes = (size_t)full->n_layer * glint_kv_layer_bytes(full);
    sliding->page_bytes = (size_t)sliding->n_layer * glint_kv_layer_bytes(sliding);
    // Every sequence may leave its last page half empty.
    full->n_page = pages_for(params->n_cell) + params->n_sequence - 1;
    sliding->n_page = ring_pages(config, params) * params->n_sequence;
}

uint64_t glint_kv_bytes(const struct glint_config *config, const struct glint_kv_params *params) {
    struct glint_kv_plane full, sliding;
    init_planes(&full, &sliding, config, params);
    return (uint64_t)full.page_bytes * (uint64_t)full.n_page +
           (uint64_t)sliding.page_bytes * (uint64_t)sliding.n_page;
}

static enum glint_status check_params(const struct glint_config *config,
                                      const struct glint_kv_params *params,
                                      struct glint_error *err) {
    GLINT_REQUIRE(params->n_sequence >= 1 && params->n_context >= 1, err);
    GLINT_REQUIRE(params->max_rows >= 1 && params->slack >= params->max_rows, err);
    GLINT_REQUIRE(params->n_cell >= params->n_context, err);
    bool blocks = params->full_k == GLINT_DTYPE_Q8_0 || params->full_v == GLINT_DTYPE_Q8_0;
    if (blocks && config->head_dim % 32 != 0)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "cache type q8_0 needs a head width divisible by 32, the model's is %d",
                          config->head_dim);
    if (params->sliding_k == GLINT_DTYPE_Q8_0 || params->sliding_v == GLINT_DTYPE_Q8_0)
        return glint_fail(
            err, GLINT_E_UNSUPPORTED,
            "cache type q8_0 is for full layers only; sliding layers take f16 or f32");
    return GLINT_OK;
}

static enum glint_status alloc_tables(struct glint_kv *kv, struct glint_error *err) {
    size_t n_sequence = (size_t)kv->params.n_sequence;
    size_t per = (size_t)kv->n_full_max + (size_t)kv->n_ring;
    kv->sequence = glint_alloc(n_sequence, sizeof *kv->sequence);
    kv->table = glint_alloc(n_sequence, per * sizeof(int32_t));
    kv->free_page = glint_alloc((size_t)kv->full.n_page, sizeof(int32_t));
    if (!kv->sequence || !kv->table || !kv->free_page)
        return glint_fail(err, GLINT_E_NOMEM, "cache: no memory for page tables");
    for (int s = 0; s < kv->params.n_sequence; s++) {
        struct sequence *sequence = &kv->sequence[s];
        sequence->full = kv->table + (size_t)s * per;
        sequence->ring = sequence->full + kv->n_full_max;
        for (int i = 0; i < kv->n_ring; i++)
            sequence->ring[i] = s * kv->n_ring + i;
    }
    kv->n_free = kv->full.n_page;
    for (int i = 0; i < kv->n_free; i++)
        kv->free_page[i] = kv->n_free - 1 - i; // lowest page is taken first
    return GLINT_OK;
}

static enum glint_status alloc_plane(struct glint_kv *kv, struct glint_kv_plane *plane,
                                     struct glint_error *err) {
    size_t bytes = plane->page_bytes * (size_t)plane->n_page;
    if (bytes == 0) // a model may lack one of the classes
        return GLINT_OK;
    plane->pages = kv->backend->alloc(kv->backend, bytes);
    if (!plane->pages)
        return glint_fail(err, GLINT_E_NOMEM, "cache: no memory for %zu bytes; lower the context",
                          bytes);
    return GLINT_OK;
}

enum glint_status glint_kv_open(struct glint_kv **out, const struct glint_config *config,
                                struct glint_backend *backend, const struct glint_kv_params *params,
                                struct glint_error *err) {
    *out = NULL;
    GLINT_TRY(check_params(config, params, err));
    struct glint_kv *kv = glint_alloc(1, sizeof *kv);
    if (!kv)
        return glint_fail(err, GLINT_E_NOMEM, "cache: no memory");
    kv->params = *params;
    kv->backend = backend;
    kv->window = config->window;
    kv->n_ring = ring_pages(config, params);
    kv->n_full_max = pages_for(params->n_context);
    init_planes(&kv->full, &kv->sliding, config, params);
    enum glint_status status = alloc_tables(kv, err);
    if (status == GLINT_OK)
        status = alloc_plane(kv, &kv->full, err);
    if (status == GLINT_OK)
        status = alloc_plane(kv, &kv->sliding, err);
    if (status != GLINT_OK) {
        glint_kv_close(&kv);
        return status;
    }
    *out = kv;
    return GLINT_OK;
}

void glint_kv_close(struct glint_kv **kv_in) {
    struct glint_kv *kv = *kv_in;
    *kv_in = NULL;
    if (!kv)
        return;
    if (kv->full.pages)
        kv->backend->free(kv->backend, kv->full.pages);
    if (kv->sliding.pages)
        kv->backend->free(kv->backend, kv->sliding.pages);
    glint_free(kv->free_page);
    glint_free(kv->table);
    glint_free(kv->sequence);
    glint_free(kv);
}

const struct glint_kv_plane *glint_kv_plane(const struct glint_kv *kv, bool sliding) {
    return sliding ? &kv->sliding : &kv->full;
}

struct glint_kv_table glint_kv_table(const struct glint_kv *kv, int i_sequence, bool sliding) {
    const struct sequence *sequence = &kv->sequence[i_sequence];
    if (sliding)
        return (struct glint_kv_table){sequence->ring, kv->n_ring};
    return (struct glint_kv_table){sequence->full, sequence->n_full};
}

int glint_kv_length(const struct glint_kv *kv, int i_sequence) {
    return kv->sequence[i_sequence].length;
}

int glint_kv_ring_begin(const struct glint_kv *kv, int i_sequence) {
    int begin = (pages_for(kv->sequence[i_sequence].top) - kv->n_ring) * GLINT_KV_PAGE_ROWS;
    return begin > 0 ? begin : 0;
}

enum glint_status glint_kv_reserve(struct glint_kv *kv, int i_sequence, int n,
                                   struct glint_error *err) {
    struct sequence *sequence = &kv->sequence[i_sequence];
    GLINT_REQUIRE(n >= 1 && n <= kv->params.max_rows, err);
    if (n > kv->params.n_context - sequence->length)
        return glint_fail(err, GLINT_E_LIMIT,
                          "context is full: %d tokens held, %d more asked, limit %d",
                          sequence->length, n, kv->params.n_context);
    int end = sequence->length + n;
    int more = kv->full.n_layer ? pages_for(end) - sequence->n_full : 0;
    if (more > kv->n_free)
        return glint_fail(err, GLINT_E_NOMEM,
                          "cache pool is used up: %d pages of %d tokens needed, %d free", more,
                          GLINT_KV_PAGE_ROWS, kv->n_free);
    for (int i = 0; i < more; i++)
        sequence->full[sequence->n_full++] = kv->free_page[--kv->n_free];
    if (end > sequence->top)
        sequence->top = end;
    return GLINT_OK;
}

void glint_kv_commit(struct glint_kv *kv, int i_sequence, int n) {
    struct sequence *sequence = &kv->sequence[i_sequence];
    GLINT_ASSERT(n >= 0 && sequence->length + n <= sequence->top);
    sequence->length += n;
}

bool glint_kv_can_truncate(const struct glint_kv *kv, int i_sequence, int length) {
    if (length < 0 || length > kv->sequence[i_sequence].length)
        return false;
    int begin = glint_kv_ring_begin(kv, i_sequence);
    return length == 0 || begin == 0 || length - (kv->window - 1) >= begin;
}

void glint_kv_truncate(struct glint_kv *kv, int i_sequence, int length) {
    GLINT_ASSERT(glint_kv_can_truncate(kv, i_sequence, length));
    struct sequence *sequence = &kv->sequence[i_sequence];
    sequence->length = length;
    if (length == 0)
        sequence->top = 0;
    if (kv->full.n_layer == 0)
        return;
    while (sequence->n_full > pages_for(length))
        kv->free_page[kv->n_free++] = sequence->full[--sequence->n_full];
}
