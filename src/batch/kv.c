// SPDX-License-Identifier: Apache-2.0
// kv.c — pages of the two pools, who refers to them, and the arithmetic of what they hold.
// Invariants: a page is free or its n_ref counts the tables and holds it is in. Rows below n_fixed
// of a page may be relied on by another than its writer; only the writer puts rows there, or any
// sequence that is the only one to refer to it. ring[i] holds ring page number[i], -1: nothing.
#include "batch/kv.h"

#include "base/alloc.h"

struct page {
    int32_t n_ref;
    int32_t writer;  // sequence that appends to it, -1: none
    int32_t n_fixed; // rows that stay as they are while there are other references
    uint64_t life;
};

struct pool {
    struct glint_kv_plane plane;
    struct page *page;  // [plane.n_page]
    int32_t *free_page; // [plane.n_page], the first n_free are free
    int n_free;
};

struct sequence {
    int length;      // committed positions
    int n_full;      // pages held of the full layers
    int32_t *full;   // [n_full_max]
    int32_t *ring;   // [n_ring]
    int32_t *number; // [n_ring] which page of the sequence ring[i] is
};

struct glint_kv {
    struct glint_kv_params params;
    struct glint_backend *backend;
    struct pool full, sliding;
    int window;
    int n_ring;     // ring pages of a slot
    int n_full_max; // full pages a sequence can need
    uint64_t n_life;
    int32_t *table;            // storage of every sequence's tables
    struct sequence *sequence; // [n_sequence]
};

enum { NOBODY = -1, NOTHING = -1 };

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
    sliding->n_page = ring_pages(config, params) * (params->n_sequence + params->n_spare);
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
    size_t per = (size_t)kv->n_full_max + 2 * (size_t)kv->n_ring;
    kv->sequence = glint_alloc(n_sequence, sizeof *kv->sequence);
    kv->table = glint_alloc(n_sequence, per * sizeof(int32_t));
    if (!kv->sequence || !kv->table)
        return glint_fail(err, GLINT_E_NOMEM, "cache: no memory for page tables");
    for (int s = 0; s < kv->params.n_sequence; s++) {
        struct sequence *sequence = &kv->sequence[s];
        sequence->full = kv->table + (size_t)s * per;
        sequence->ring = sequence->full + kv->n_full_max;
        sequence->number = sequence->ring + kv->n_ring;
        for (int i = 0; i < kv->n_ring; i++)
            sequence->number[i] = NOTHING;
    }
    return GLINT_OK;
}

static enum glint_status alloc_pool(struct glint_kv *kv, struct pool *pool,
                                    struct glint_error *err) {
    size_t n = (size_t)pool->plane.n_page, bytes = pool->plane.page_bytes * n;
    pool->page = glint_alloc(n, sizeof *pool->page);
    pool->free_page = glint_alloc(n, sizeof(int32_t));
    if (!pool->page || !pool->free_page)
        return glint_fail(err, GLINT_E_NOMEM, "cache: no memory for page tables");
    pool->n_free = pool->plane.n_page;
    for (int i = 0; i < pool->n_free; i++)
        pool->free_page[i] = pool->n_free - 1 - i; // lowest page is taken first
    if (bytes == 0)                                // a model may lack one of the classes
        return GLINT_OK;
    pool->plane.pages = kv->backend->alloc(kv->backend, bytes);
    if (!pool->plane.pages)
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
    init_planes(&kv->full.plane, &kv->sliding.plane, config, params);
    enum glint_status status = alloc_tables(kv, err);
    if (status == GLINT_OK)
        status = alloc_pool(kv, &kv->full, err);
    if (status == GLINT_OK)
        status = alloc_pool(kv, &kv->sliding, err);
    if (status != GLINT_OK) {
        glint_kv_close(&kv);
        return status;
    }
    *out = kv;
    return GLINT_OK;
}

static void free_pool(struct glint_kv *kv, struct pool *pool) {
    if (pool->plane.pages)
        kv->backend->free(kv->backend, pool->plane.pages);
    glint_free(pool->page);
    glint_free(pool->free_page);
}

void glint_kv_close(struct glint_kv **kv_in) {
    struct glint_kv *kv = *kv_in;
    *kv_in = NULL;
    if (!kv)
        return;
    free_pool(kv, &kv->full);
    free_pool(kv, &kv->sliding);
    glint_free(kv->table);
    glint_free(kv->sequence);
    glint_free(kv);
}

const struct glint_kv_plane *glint_kv_plane(const struct glint_kv *kv, bool sliding) {
    return sliding ? &kv->sliding.plane : &kv->full.plane;
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

// ---- pages --------------------------------------------------------------------------------------

static int32_t take_page(struct glint_kv *kv, struct pool *pool, int i_sequence) {
    GLINT_ASSERT(pool->n_free > 0);
    int32_t page = pool->free_page[--pool->n_free];
    pool->page[page] = (struct page){.n_ref = 1, .writer = i_sequence, .life = ++kv->n_life};
    return page;
}

static void add_ref(struct pool *pool, int32_t page) {
    pool->page[page].n_ref++;
}

// i_sequence NOBODY: a hold lets go.
static void drop_ref(struct pool *pool, int32_t page, int i_sequence) {
    struct page *p = &pool->page[page];
    if (p->writer == i_sequence)
        p->writer = NOBODY;
    GLINT_ASSERT(p->n_ref > 0);
    if (--p->n_ref == 0)
        pool->free_page[pool->n_free++] = page;
}

// The sequence may put rows from `row` on into a page it refers to.
static bool may_append(const struct pool *pool, int32_t page, int i_sequence, int row) {
    const struct page *p = &pool->page[page];
    return p->n_ref == 1 || ((p->writer == i_sequence || p->writer == NOBODY) && row >= p->n_fixed);
}

// The page that takes its place when rows from `row` on are to be put there: itself, or a copy.
static int32_t open_page(struct glint_kv *kv, struct pool *pool, int32_t page, int i_sequence,
                         int row) {
    struct page *p = &pool->page[page];
    if (may_append(pool, page, i_sequence, row)) {
        p->writer = i_sequence;
        if (p->n_ref == 1) {
            p->n_fixed = 0;
            p->life = ++kv->n_life;
        }
        return page;
    }
    int32_t copy = take_page(kv, pool, i_sequence);
    const struct glint_kv_plane *plane = &pool->plane;
    size_t n = plane->page_bytes / sizeof(float);
    struct glint_op_copy_rows op = {
        .out = (float *)(void *)(plane->pages + (size_t)copy * plane->page_bytes),
        .x = (const float *)(const void *)(plane->pages + (size_t)page * plane->page_bytes),
        .n = 1,
        .width = (int)n,
        .out_stride = (int64_t)n,
        .x_stride = (int64_t)n,
    };
    if (n != 0)
        kv->backend->ops.copy_rows(kv->backend, &op);
    drop_ref(pool, page, i_sequence);
    return copy;
}

// ---- sequences ----------------------------------------------------------------------------------

static bool has_ring_page(const struct glint_kv *kv, const struct sequence *sequence, int i) {
    return sequence->number[i % kv->n_ring] == i;
}

// Position at which the ring pages begin that reach without a gap to the page of `length` - 1.
static int ring_begin(const struct glint_kv *kv, const struct sequence *sequence, int length) {
    int i = pages_for(length);
    while (i > 0 && has_ring_page(kv, sequence, i - 1))
        i--;
    return i * GLINT_KV_PAGE_ROWS;
}

int glint_kv_ring_begin(const struct glint_kv *kv, int i_sequence) {
    const struct sequence *sequence = &kv->sequence[i_sequence];
    return ring_begin(kv, sequence, sequence->length);
}

struct need {
    int full, sliding; // pages
};

// Pages that rows [length, end) take from the pools; the first page may be there in part.
static struct need count_need(const struct glint_kv *kv, int i_sequence, int end) {
    const struct sequence *sequence = &kv->sequence[i_sequence];
    struct need need = {0, 0};
    for (int i = sequence->length / GLINT_KV_PAGE_ROWS; i < pages_for(end); i++) {
        int at = i % kv->n_ring, row = sequence->length - i * GLINT_KV_PAGE_ROWS;
        row = row > 0 ? row : 0;
        if (i >= sequence->n_full)
            need.full++;
        else
            need.full += !may_append(&kv->full, sequence->full[i], i_sequence, row);
        if (has_ring_page(kv, sequence, i))
            need.sliding += !may_append(&kv->sliding, sequence->ring[at], i_sequence, row);
        else // one that nobody else wants is used again
            need.sliding +=
                sequence->number[at] == NOTHING || kv->sliding.page[sequence->ring[at]].n_ref > 1;
    }
    if (kv->full.plane.n_layer == 0)
        need.full = 0;
    return need;
}

static void reserve_ring_page(struct glint_kv *kv, int i_sequence, int i, int row) {
    struct sequence *sequence = &kv->sequence[i_sequence];
    int at = i % kv->n_ring;
    if (has_ring_page(kv, sequence, i)) {
        sequence->ring[at] = open_page(kv, &kv->sliding, sequence->ring[at], i_sequence, row);
        return;
    }
    if (sequence->number[at] != NOTHING)
        drop_ref(&kv->sliding, sequence->ring[at], i_sequence);
    sequence->ring[at] = take_page(kv, &kv->sliding, i_sequence);
    sequence->number[at] = i;
}

static enum glint_status check_need(const struct pool *pool, int need, const char *layers,
                                    struct glint_error *err) {
    if (need <= pool->n_free)
        return GLINT_OK;
    return glint_fail(err, GLINT_E_NOMEM,
                      "cache pool of %s layers is used up: %d pages of %d tokens needed, %d free",
                      layers, need, GLINT_KV_PAGE_ROWS, pool->n_free);
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
    struct need need = count_need(kv, i_sequence, end);
    GLINT_TRY(check_need(&kv->full, need.full, "full", err));
    GLINT_TRY(check_need(&kv->sliding, need.sliding, "sliding", err));
    for (int i = sequence->length / GLINT_KV_PAGE_ROWS; i < pages_for(end); i++) {
        int row = sequence->length - i * GLINT_KV_PAGE_ROWS;
        row = row > 0 ? row : 0;
        reserve_ring_page(kv, i_sequence, i, row);
        if (i < sequence->n_full)
            sequence->full[i] = open_page(kv, &kv->full, sequence->full[i], i_sequence, row);
        else if (kv->full.plane.n_layer != 0)
            sequence->full[sequence->n_full++] = take_page(kv, &kv->full, i_sequence);
    }
    return GLINT_OK;
}

void glint_kv_commit(struct glint_kv *kv, int i_sequence, int n) {
    struct sequence *sequence = &kv->sequence[i_sequence];
    int end = sequence->length + n;
    GLINT_ASSERT(n >= 0 && (end == 0 || has_ring_page(kv, sequence, pages_for(end) - 1)));
    sequence->length = end;
}

static bool reaches(const struct glint_kv *kv, int begin, int length) {
    return length == 0 || begin == 0 || length - (kv->window - 1) >= begin;
}

bool glint_kv_can_truncate(const struct glint_kv *kv, int i_sequence, int length) {
    if (length < 0 || length > kv->sequence[i_sequence].length)
        return false;
    return reaches(kv, glint_kv_ring_begin(kv, i_sequence), length);
}

void glint_kv_truncate(struct glint_kv *kv, int i_sequence, int length) {
    GLINT_ASSERT(glint_kv_can_truncate(kv, i_sequence, length));
    struct sequence *sequence = &kv->sequence[i_sequence];
    int n = pages_for(length);
    sequence->length = length;
    while (sequence->n_full > n)
        drop_ref(&kv->full, sequence->full[--sequence->n_full], i_sequence);
    for (int at = 0; at < kv->n_ring; at++)
        if (sequence->number[at] != NOTHING && (length == 0 || sequence->number[at] >= n)) {
            drop_ref(&kv->sliding, sequence->ring[at], i_sequence);
            sequence->number[at] = NOTHING;
        }
}

// ---- holds --------------------------------------------------------------------------------------

// Rows below the end of `length` in page i of a sequence stay as they are.
static void fix_rows(struct pool *pool, int32_t page, int i, int length) {
    int row = length - i * GLINT_KV_PAGE_ROWS;
    row = row < GLINT_KV_PAGE_ROWS ? row : GLINT_KV_PAGE_ROWS;
    if (row > pool->page[page].n_fixed)
        pool->page[page].n_fixed = row;
}

enum glint_status glint_kv_hold_open(struct glint_kv *kv, struct glint_kv_hold *hold,
                                     int i_sequence, int length, struct glint_error *err) {
    const struct sequence *sequence = &kv->sequence[i_sequence];
    *hold = (struct glint_kv_hold){0};
    GLINT_REQUIRE(length > 0 && glint_kv_can_truncate(kv, i_sequence, length), err);
    int n = pages_for(length);
    int n_full = kv->full.plane.n_layer ? n : 0;
    int i_ring = ring_begin(kv, sequence, length) / GLINT_KV_PAGE_ROWS;
    hold->page = glint_alloc((size_t)(n_full + n - i_ring), sizeof *hold->page);
    if (!hold->page)
        return glint_fail(err, GLINT_E_NOMEM, "cache: no memory for a list of pages");
    hold->length = length;
    hold->n_full = n_full;
    hold->n_ring = n - i_ring;
    hold->i_ring = i_ring;
    for (int i = 0; i < n_full; i++) {
        hold->page[i] = sequence->full[i];
        add_ref(&kv->full, sequence->full[i]);
        fix_rows(&kv->full, sequence->full[i], i, length);
    }
    for (int i = i_ring; i < n; i++) {
        int32_t page = sequence->ring[i % kv->n_ring];
        hold->page[n_full + i - i_ring] = page;
        add_ref(&kv->sliding, page);
        fix_rows(&kv->sliding, page, i, length);
    }
    return GLINT_OK;
}

void glint_kv_hold_close(struct glint_kv *kv, struct glint_kv_hold *hold) {
    for (int i = 0; i < hold->n_full; i++)
        drop_ref(&kv->full, hold->page[i], NOBODY);
    for (int i = 0; i < hold->n_ring; i++)
        drop_ref(&kv->sliding, hold->page[hold->n_full + i], NOBODY);
    glint_free(hold->page);
    *hold = (struct glint_kv_hold){0};
}

bool glint_kv_hold_reaches(const struct glint_kv *kv, const struct glint_kv_hold *hold,
                           int length) {
    return length > 0 && length <= hold->length &&
           reaches(kv, hold->i_ring * GLINT_KV_PAGE_ROWS, length);
}

void glint_kv_adopt(struct glint_kv *kv, int i_sequence, const struct glint_kv_hold *hold,
                    int length) {
    struct sequence *sequence = &kv->sequence[i_sequence];
    GLINT_ASSERT(sequence->length == 0 && glint_kv_hold_reaches(kv, hold, length));
    glint_kv_truncate(kv, i_sequence, 0); // rows reserved and never committed
    int n = pages_for(length);
    for (int i = 0; i < n && i < hold->n_full; i++) {
        sequence->full[sequence->n_full++] = hold->page[i];
        add_ref(&kv->full, hold->page[i]);
    }
    for (int i = hold->i_ring; i < n; i++) {
        int32_t page = hold->page[hold->n_full + i - hold->i_ring];
        sequence->ring[i % kv->n_ring] = page;
        sequence->number[i % kv->n_ring] = i;
        add_ref(&kv->sliding, page);
    }
    sequence->length = length;
}

int32_t glint_kv_full_page(const struct glint_kv *kv, int i_sequence, int i) {
    GLINT_ASSERT(i < kv->sequence[i_sequence].n_full);
    return kv->sequence[i_sequence].full[i];
}

uint64_t glint_kv_page_life(const struct glint_kv *kv, int32_t page) {
    return kv->full.page[page].life;
}

void glint_kv_replace_full(struct glint_kv *kv, int i_sequence, int i, int32_t page) {
    struct sequence *sequence = &kv->sequence[i_sequence];
    GLINT_ASSERT(sequence->length >= (i + 1) * GLINT_KV_PAGE_ROWS);
    add_ref(&kv->full, page);
    kv->full.page[page].n_fixed = GLINT_KV_PAGE_ROWS;
    drop_ref(&kv->full, sequence->full[i], i_sequence);
    sequence->full[i] = page;
}

int glint_kv_page_refs(const struct glint_kv *kv, bool sliding, int32_t page) {
    return (sliding ? &kv->sliding : &kv->full)->page[page].n_ref;
}

static uint64_t pages_in_use(const struct pool *pool) {
    return (uint64_t)(pool->plane.n_page - pool->n_free);
}

// A page that several sequences share is found first in the table of the lowest.
static bool is_first(const struct glint_kv *kv, int i_sequence, bool sliding, int i, int32_t page) {
    for (int s = 0; s < i_sequence; s++) {
        const struct sequence *other = &kv->sequence[s];
        if (sliding ? has_ring_page(kv, other, i) && other->ring[i % kv->n_ring] == page
                    : i < other->n_full && other->full[i] == page)
            return false;
    }
    return true;
}

uint64_t glint_kv_held_bytes(const struct glint_kv *kv) {
    uint64_t n_full = pages_in_use(&kv->full), n_ring = pages_in_use(&kv->sliding);
    for (int s = 0; s < kv->params.n_sequence; s++) {
        const struct sequence *sequence = &kv->sequence[s];
        for (int i = 0; i < sequence->n_full; i++)
            n_full -= is_first(kv, s, false, i, sequence->full[i]);
        for (int at = 0; at < kv->n_ring; at++)
            n_ring -= sequence->number[at] != NOTHING &&
                      is_first(kv, s, true, sequence->number[at], sequence->ring[at]);
    }
    return n_full * kv->full.plane.page_bytes + n_ring * kv->sliding.plane.page_bytes;
}
