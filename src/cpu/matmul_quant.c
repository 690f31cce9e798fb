// SPDX-License-Identifier: Apache-2.0
// matmul_quant.c — the integer path: x is rounded once for all matrices of the op, then workers
// walk panels of 32 output rows, unpacking a tile pair and multiplying it with every row of x. The
// weights are read once per chunk of GLINT_MATMUL_CHUNK rows of x. Workers claim stretches of
// panels from a counter, so that one whose processor is busy with something else gets fewer.
#include "cpu/matmul_state.h"

#include <stdatomic.h>
#include <string.h>

// Steps from unpacking to prefetching: a step takes about 0.2 us for one row of x, memory answers
// in 0.1 to 0.3 us.
enum { AHEAD = 2 };

enum {
    CLAIMS_A_WORKER = 8,    // the last to finish is not alone for long
    CLAIM_PRODUCTS = 65536, // at least: claiming costs little beside it
};

// A chunk of the op: rows [begin, begin + n) of x.
struct chunk {
    struct glint_cpu *cpu;
    const struct glint_op_matmul *op;
    int begin, n;
    int64_t n_col;
    int n_stretch;
    // Matrices of one kind share a bias array.
    int n_kind;
    struct glint_weight_kind kind[GLINT_MATMUL_MAX];
    int kind_of[GLINT_MATMUL_MAX];
    int64_t claim_panels; // of one matrix that a worker takes at a time
    atomic_llong next_claim;
};

static bool same_bias(struct glint_weight_kind a, struct glint_weight_kind b) {
    return a.sub == b.sub && a.offset == b.offset;
}

static void find_kinds(struct chunk *chunk) {
    chunk->n_kind = 0;
    for (int m = 0; m < chunk->op->n_matrix; m++) {
        struct glint_weight_kind kind = glint_weight_kind(chunk->op->w[m]->dtype);
        int k = 0;
        while (k < chunk->n_kind && !same_bias(chunk->kind[k], kind))
            k++;
        if (k == chunk->n_kind)
            chunk->kind[chunk->n_kind++] = kind;
        chunk->kind_of[m] = k;
    }
}

static void fill_bias(void *bias, struct glint_weight_kind kind, const int32_t *sum,
                      const float *scale) {
    int32_t *exact = bias;
    float *rounded = bias;
    int step = kind.sub / 16;
    for (int s = 0; s < GLINT_TILE_SUBS / step; s++) {
        int32_t total = step == 1 ? sum[s] : sum[2 * s] + sum[2 * s + 1];
        if (kind.offset != 0)
            exact[s] = -kind.offset * total;
        else
            rounded[s] = scale[s * kind.sub / 32] * (float)total;
    }
}

static int stretch_cols(const struct chunk *chunk, int i_stretch) {
    int64_t left = chunk->n_col - (int64_t)i_stretch * GLINT_TILE_COLS;
    return left < GLINT_TILE_COLS ? (int)left : GLINT_TILE_COLS;
}

static void round_stretch(const struct chunk *chunk, int i_stretch, int i_token) {
    struct glint_cpu_matmul *matmul = chunk->cpu->matmul;
    size_t at = (size_t)i_stretch * (size_t)chunk->n + (size_t)i_token;
    const float *x = chunk->op->x + (chunk->begin + i_token) * chunk->n_col +
                     (int64_t)i_stretch * GLINT_TILE_COLS;
    float *scale = matmul->scale + at * GLINT_TILE_BLOCKS;
    int32_t sum[GLINT_TILE_SUBS] = {0};
    matmul->kernels.quantize(matmul->q + at * GLINT_TILE_COLS, scale, sum, x,
                             stretch_cols(chunk, i_stretch));
    for (int k = 0; k < chunk->n_kind; k++) {
        size_t subs = (size_t)(GLINT_TILE_COLS / chunk->kind[k].sub);
        fill_bias((int32_t *)matmul->bias[k] + at * subs, chunk->kind[k], sum, scale);
    }
}

static void round_rows(void *context, int i_worker, int n_workers) {
    const struct chunk *chunk = context;
    struct glint_range range =
        glint_pool_range((int64_t)chunk->n_stretch * chunk->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        round_stretch(chunk, (int)(i / chunk->n), (int)(i % chunk->n));
}

// Rows of one matrix that one worker has claimed.
struct pass {
    const struct chunk *chunk;
    const struct glint_matrix *w;
    float *out;
    const int32_t *bias;
    struct glint_weight_kind kind;
    struct glint_matmul_worker *worker;
    size_t stretch_bytes; // of one row of a tile
    int64_t begin, end;   // rows of the matrix
};

// Steps of a group: stretch by stretch, panel by panel.
struct group {
    int64_t begin; // a panel
    int n_panel;
};

static int64_t panel_row(const struct pass *pass, int64_t i_panel) {
    return pass->begin + i_panel * GLINT_PANEL_ROWS;
}

static const uint8_t *step_data(const struct pass *pass, int64_t row, int i_stretch) {
    return (const uint8_t *)pass->w->data + (size_t)row * pass->w->row_bytes +
           (size_t)i_stretch * pass->stretch_bytes;
}

// What the unpacking of a step prefetches: the weights of a step some way on, which may be in
// the next group. Those of a short panel are left to the hardware.
static const uint8_t *step_ahead(const struct pass *pass, const struct group *group, int i_step) {
    int n_panel = group->n_panel, n_step = n_panel * pass->chunk->n_stretch;
    int64_t begin = group->begin;
    i_step += n_panel == 1 ? AHEAD : 1;
    if (i_step >= n_step) {
        begin += n_panel;
        i_step = i_step - n_step < n_step ? i_step - n_step : n_step - 1;
    }
    int64_t row = panel_row(pass, begin + i_step % n_panel);
    if (row + GLINT_PANEL_ROWS > pass->end)
        return step_data(pass, panel_row(pass, group->begin), 0);
    return step_data(pass, row, i_step / n_panel);
}

// The rows of the last, short panel, with zero rows after them.
static void pad_panel(const struct pass *pass, int64_t n_rows, size_t bytes,
                      struct glint_tile_source *source) {
    struct glint_matmul_worker *worker = pass->worker;
    memset(worker->tail, 0, sizeof worker->tail);
    for (int64_t r = 0; r < n_rows; r++)
        memcpy(worker->tail[r], source->rows + (size_t)r * source->stride, bytes);
    source->rows = worker->tail[0];
    source->stride = sizeof worker->tail[0];
}

static struct glint_tile_source step_source(const struct pass *pass, const struct group *group,
                                            int i_step) {
    int64_t row = panel_row(pass, group->begin + i_step % group->n_panel);
    int i_stretch = i_step / group->n_panel;
    struct glint_tile_source source = {
        .rows = step_data(pass, row, i_stretch),
        .stride = pass->w->row_bytes,
        .ahead = step_ahead(pass, group, i_step),
    };
    int n_block = stretch_cols(pass->chunk, i_stretch) / 32;
    if (pass->end - row < GLINT_PANEL_ROWS)
        pad_panel(pass, pass->end - row, pass->stretch_bytes * (size_t)n_block / GLINT_TILE_BLOCKS,
                  &source);
    return source;
}

// One panel's stretch of columns for all rows of x.
static void multiply_step(const struct pass *pass, const struct group *group, int i_step) {
    const struct chunk *chunk = pass->chunk;
    const struct glint_cpu_matmul *matmul = chunk->cpu->matmul;
    const struct glint_matmul_kernels *kernels = &matmul->kernels;
    enum glint_dtype dtype = pass->w->dtype;
    struct glint_tile *tile = pass->worker->tile;
    int i_stretch = i_step / group->n_panel, i_panel = i_step % group->n_panel;
    size_t at = (size_t)i_stretch * (size_t)chunk->n;
    struct glint_tile_multiply job = {
        .tile = tile,
        .acc = pass->worker->acc + (size_t)i_panel * (size_t)chunk->n * GLINT_PANEL_ROWS,
        .q = matmul->q + at * GLINT_TILE_COLS,
        .scale = matmul->scale + at * GLINT_TILE_BLOCKS,
        .bias = pass->bias + at * (size_t)(GLINT_TILE_COLS / pass->kind.sub),
        .n_token = chunk->n,
        .n_block = stretch_cols(chunk, i_stretch) / 32,
    };
    struct glint_tile_source source = step_source(pass, group, i_step);
    bool one = chunk->n == 1 && kernels->multiply_one[dtype] != NULL;
    for (int i = 0; i < GLINT_PANEL_TILES; i++) {
        if (one)
            kernels->multiply_one[dtype](tile, &source, &job);
        else
            kernels->unpack[dtype](tile + i, &source, job.n_block);
        source.rows += GLINT_TILE_ROWS * source.stride;
        source.ahead += GLINT_TILE_ROWS * source.stride;
        job.acc += one ? GLINT_TILE_ROWS : 0;
    }
    if (!one)
        kernels->multiply[pass->kind.class](&job);
}

// Row by row, so that what is written lies together.
static void store_group(const struct pass *pass, const struct group *group) {
    const struct chunk *chunk = pass->chunk;
    int64_t row = panel_row(pass, group->begin), left = pass->end - row;
    size_t panel_floats = (size_t)chunk->n * GLINT_PANEL_ROWS;
    for (int t = 0; t < chunk->n; t++) {
        const float *acc = pass->worker->acc + (size_t)t * GLINT_PANEL_ROWS;
        float *out = pass->out + (chunk->begin + t) * pass->w->n_row + row;
        for (int64_t n = left; n > 0 && n > left - group->n_panel * GLINT_PANEL_ROWS;
             n -= GLINT_PANEL_ROWS, acc += panel_floats, out += GLINT_PANEL_ROWS)
            memcpy(out, acc, (size_t)(n < GLINT_PANEL_ROWS ? n : GLINT_PANEL_ROWS) * sizeof *acc);
    }
}

// Panels of one group share each stretch of x while it is in the cache.
static void multiply_group(const struct pass *pass, const struct group *group) {
    float *acc = pass->worker->acc;
    size_t panel_floats = (size_t)pass->chunk->n * GLINT_PANEL_ROWS;
    memset(acc, 0, (size_t)group->n_panel * panel_floats * sizeof(float));
    for (int i = 0; i < group->n_panel * pass->chunk->n_stretch; i++)
        multiply_step(pass, group, i);
    store_group(pass, group);
}

static int64_t panels_of(const struct glint_matrix *w) {
    return (w->n_row + GLINT_PANEL_ROWS - 1) / GLINT_PANEL_ROWS;
}

static int64_t claims_of(const struct chunk *chunk, const struct glint_matrix *w) {
    return (panels_of(w) + chunk->claim_panels - 1) / chunk->claim_panels;
}

// The i-th stretch of panels of a matrix.
static void multiply_claim(const struct chunk *chunk, int i_matrix, int64_t i, int i_worker) {
    const struct glint_matrix *w = chunk->op->w[i_matrix];
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)w->dtype);
    int64_t begin = i * chunk->claim_panels * GLINT_PANEL_ROWS;
    int64_t end = begin + chunk->claim_panels * GLINT_PANEL_ROWS;
    struct pass pass = {
        .chunk = chunk,
        .w = w,
        .out = chunk->op->out[i_matrix],
        .bias = chunk->cpu->matmul->bias[chunk->kind_of[i_matrix]],
        .kind = glint_weight_kind(w->dtype),
        .worker = &chunk->cpu->matmul->worker[i_worker],
        .stretch_bytes = (size_t)GLINT_TILE_COLS / info->block_len * info->block_bytes,
        .begin = begin,
        .end = end < w->n_row ? end : w->n_row,
    };
    // While all of x fits in half the L2 cache there is nothing to share, and one panel at a
    // time keeps the weights one stream.
    bool small = (int64_t)chunk->n * chunk->n_col <= 512 * 1024;
    int64_t n_panel = (pass.end - pass.begin + GLINT_PANEL_ROWS - 1) / GLINT_PANEL_ROWS;
    for (int64_t p = 0; p < n_panel;) {
        struct group group = {p, 1};
        if (!small)
            group.n_panel =
                n_panel - p < GLINT_MATMUL_GROUP ? (int)(n_panel - p) : GLINT_MATMUL_GROUP;
        multiply_group(&pass, &group);
        p += group.n_panel;
    }
}

static void multiply_claims(void *context, int i_worker, int n_workers) {
    struct chunk *chunk = context;
    (void)n_workers;
    for (;;) {
        // Relaxed: the counter alone is shared; the pool orders everything else.
        int64_t i = atomic_fetch_add_explicit(&chunk->next_claim, 1, memory_order_relaxed);
        int m = 0;
        while (m < chunk->op->n_matrix && i >= claims_of(chunk, chunk->op->w[m]))
            i -= claims_of(chunk, chunk->op->w[m++]);
        if (m == chunk->op->n_matrix)
            return;
        multiply_claim(chunk, m, i, i_worker);
    }
}

// Large enough to be worth a claim, small enough for everyone to get some.
static void size_claims(struct chunk *chunk) {
    int64_t total = 0;
    for (int m = 0; m < chunk->op->n_matrix; m++)
        total += panels_of(chunk->op->w[m]);
    int64_t least = CLAIM_PRODUCTS / (GLINT_PANEL_ROWS * chunk->n_col * chunk->n) + 1;
    int64_t panels = total / (chunk->cpu->n_workers * CLAIMS_A_WORKER);
    panels = panels > least ? panels : least;
    chunk->claim_panels =
        (panels + GLINT_MATMUL_GROUP - 1) / GLINT_MATMUL_GROUP * GLINT_MATMUL_GROUP;
    atomic_init(&chunk->next_claim, 0);
}

void glint_matmul_quant(struct glint_cpu *cpu, const struct glint_op_matmul *op) {
    struct chunk chunk = {.cpu = cpu, .op = op, .n_col = op->w[0]->n_col};
    chunk.n_stretch = (int)((chunk.n_col + GLINT_TILE_COLS - 1) / GLINT_TILE_COLS);
    find_kinds(&chunk);
    for (; chunk.begin < op->n; chunk.begin += GLINT_MATMUL_CHUNK) {
        int left = op->n - chunk.begin;
        chunk.n = left < GLINT_MATMUL_CHUNK ? left : GLINT_MATMUL_CHUNK;
        glint_cpu_run(cpu, chunk.n * chunk.n_col, round_rows, &chunk);
        size_claims(&chunk);
        glint_cpu_run(cpu, glint_matmul_work(op, chunk.n), multiply_claims, &chunk);
    }
}
