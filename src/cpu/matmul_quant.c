// SPDX-License-Identifier: Apache-2.0
// matmul_quant.c — the integer path: x is rounded once for all matrices of the op, then each
// worker walks its panels of 32 output rows, unpacking a tile pair and multiplying it with every
// row of x. The weights are read once per chunk of GLINT_MATMUL_CHUNK rows of x.
#include "cpu/matmul_state.h"

#include <string.h>

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

static void round_rows(const struct chunk *chunk, int i_worker, int n_workers) {
    struct glint_range range =
        glint_pool_range((int64_t)chunk->n_stretch * chunk->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        round_stretch(chunk, (int)(i / chunk->n), (int)(i % chunk->n));
}

// One matrix seen by one worker.
struct pass {
    const struct chunk *chunk;
    const struct glint_matrix *w;
    float *out;
    const int32_t *bias;
    struct glint_weight_kind kind;
    struct glint_matmul_worker *worker;
    size_t stretch_bytes; // of one row of a tile
    int64_t end;          // rows [.., end) of the matrix are this worker's
};

// Stays ahead of the unpacking: the panel after this one, in file order, spread evenly over the
// stretches of this one, so that memory is read in one ascending stream.
static void prefetch_panel(const struct pass *pass, int64_t row, int i_stretch) {
    int64_t next = row + GLINT_PANEL_ROWS;
    if (next >= pass->end)
        return;
    int64_t n_rows = pass->end - next < GLINT_PANEL_ROWS ? pass->end - next : GLINT_PANEL_ROWS;
    size_t bytes = (size_t)n_rows * pass->w->row_bytes;
    size_t share = bytes / (size_t)pass->chunk->n_stretch + 1;
    size_t from = share * (size_t)i_stretch;
    size_t to = from + share < bytes ? from + share : bytes;
    const char *data = (const char *)pass->w->data + (size_t)next * pass->w->row_bytes;
    for (size_t at = from; at < to; at += 64)
        __builtin_prefetch(data + at, 0, 2);
}

static void unpack_panel(const struct pass *pass, int64_t row, int i_stretch) {
    const struct glint_matrix *w = pass->w;
    struct glint_matmul_worker *worker = pass->worker;
    const uint8_t *data = (const uint8_t *)w->data + (size_t)row * w->row_bytes +
                          (size_t)i_stretch * pass->stretch_bytes;
    size_t stride = w->row_bytes;
    int n_block = stretch_cols(pass->chunk, i_stretch) / 32;
    int64_t left = pass->end - row;
    if (left < GLINT_PANEL_ROWS) {
        const struct glint_dtype_info *info = glint_dtype_info((uint32_t)w->dtype);
        size_t bytes = (size_t)n_block * 32 / info->block_len * info->block_bytes;
        memset(worker->tail, 0, sizeof worker->tail);
        for (int64_t r = 0; r < left; r++)
            memcpy(worker->tail[r], data + (size_t)r * stride, bytes);
        data = worker->tail[0];
        stride = sizeof worker->tail[0];
    }
    for (int i = 0; i < GLINT_PANEL_TILES; i++)
        pass->chunk->cpu->matmul->kernels.unpack[w->dtype](
            &worker->tile[i], data + (size_t)(i * GLINT_TILE_ROWS) * stride, stride, n_block);
}

static void multiply_panel(const struct pass *pass, float *acc, int i_stretch) {
    const struct chunk *chunk = pass->chunk;
    const struct glint_cpu_matmul *matmul = chunk->cpu->matmul;
    size_t at = (size_t)i_stretch * (size_t)chunk->n;
    struct glint_tile_multiply job = {
        .tile = pass->worker->tile,
        .acc = acc,
        .q = matmul->q + at * GLINT_TILE_COLS,
        .scale = matmul->scale + at * GLINT_TILE_BLOCKS,
        .bias = pass->bias + at * (size_t)(GLINT_TILE_COLS / pass->kind.sub),
        .n_token = chunk->n,
        .n_block = stretch_cols(chunk, i_stretch) / 32,
    };
    matmul->kernels.multiply[pass->kind.class](&job);
}

static void store_panel(const struct pass *pass, const float *acc, int64_t row) {
    const struct chunk *chunk = pass->chunk;
    int64_t n_rows = pass->end - row < GLINT_PANEL_ROWS ? pass->end - row : GLINT_PANEL_ROWS;
    for (int t = 0; t < chunk->n; t++)
        memcpy(pass->out + (chunk->begin + t) * pass->w->n_row + row,
               acc + (size_t)t * GLINT_PANEL_ROWS, (size_t)n_rows * sizeof(float));
}

// Panels of one group share each stretch of x while it is in the cache.
static void multiply_group(const struct pass *pass, int64_t begin, int64_t end) {
    const struct chunk *chunk = pass->chunk;
    float *acc = pass->worker->acc;
    size_t panel_floats = (size_t)chunk->n * GLINT_PANEL_ROWS;
    int n_panel = (int)((end - begin + GLINT_PANEL_ROWS - 1) / GLINT_PANEL_ROWS);
    memset(acc, 0, (size_t)n_panel * panel_floats * sizeof(float));
    for (int s = 0; s < chunk->n_stretch; s++) {
        for (int p = 0; p < n_panel; p++) {
            int64_t row = begin + (int64_t)p * GLINT_PANEL_ROWS;
            unpack_panel(pass, row, s);
            if (n_panel == 1)
                prefetch_panel(pass, row, s);
            multiply_panel(pass, acc + (size_t)p * panel_floats, s);
        }
    }
    for (int p = 0; p < n_panel; p++)
        store_panel(pass, acc + (size_t)p * panel_floats, begin + (int64_t)p * GLINT_PANEL_ROWS);
}

static void multiply_matrix(const struct chunk *chunk, int i_matrix, int i_worker, int n_workers) {
    const struct glint_matrix *w = chunk->op->w[i_matrix];
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)w->dtype);
    struct glint_range range = glint_pool_range(w->n_row, GLINT_PANEL_ROWS, i_worker, n_workers);
    int k = chunk->kind_of[i_matrix];
    struct pass pass = {
        .chunk = chunk,
        .w = w,
        .out = chunk->op->out[i_matrix],
        .bias = chunk->cpu->matmul->bias[k],
        .kind = glint_weight_kind(w->dtype),
        .worker = &chunk->cpu->matmul->worker[i_worker],
        .stretch_bytes = (size_t)GLINT_TILE_COLS / info->block_len * info->block_bytes,
        .end = range.end,
    };
    // While all of x fits in half the L2 cache there is nothing to share, and one panel at a
    // time keeps the weights one stream.
    bool small = (int64_t)chunk->n * chunk->n_col <= 512 * 1024;
    int64_t step = (small ? 1 : GLINT_MATMUL_GROUP) * (int64_t)GLINT_PANEL_ROWS;
    for (int64_t row = range.begin; row < range.end; row += step)
        multiply_group(&pass, row, row + step < range.end ? row + step : range.end);
}

void glint_matmul_quant(struct glint_cpu *cpu, const struct glint_op_matmul *op, int i_worker,
                        int n_workers) {
    struct chunk chunk = {.cpu = cpu, .op = op, .n_col = op->w[0]->n_col};
    chunk.n_stretch = (int)((chunk.n_col + GLINT_TILE_COLS - 1) / GLINT_TILE_COLS);
    find_kinds(&chunk);
    for (; chunk.begin < op->n; chunk.begin += GLINT_MATMUL_CHUNK) {
        int left = op->n - chunk.begin;
        chunk.n = left < GLINT_MATMUL_CHUNK ? left : GLINT_MATMUL_CHUNK;
        if (chunk.begin > 0 && n_workers > 1) // the last chunk's rounded rows are still in use
            glint_pool_barrier(cpu->pool);
        round_rows(&chunk, i_worker, n_workers);
        if (n_workers > 1)
            glint_pool_barrier(cpu->pool);
        for (int m = 0; m < op->n_matrix; m++)
            multiply_matrix(&chunk, m, i_worker, n_workers);
    }
}
