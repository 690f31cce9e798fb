// SPDX-License-Identifier: Apache-2.0
// matmul_float.c — the float path: float weights, and quantized ones with exact activations.
// Weight rows are decoded to float32 a stretch at a time and multiplied with a block of rows of
// x. A dot product is 16 partial sums, column c going to lane c % 16, folded at the end in
// halves: the same order whatever the blocking.
#include "cpu/matmul_state.h"

#include <string.h>

// Rows of x [begin, begin + n) against rows of one matrix.
struct block {
    const struct glint_matmul_kernels *kernels;
    struct glint_matmul_worker *worker;
    const struct glint_matrix *w;
    const struct glint_dtype_info *info;
    float *out;     // of the first row of x: [n, w->n_row]
    const float *x; // [n, w->n_col]
    int n;
};

static float fold(const float lanes[GLINT_DOT_LANES]) {
    float sum[GLINT_DOT_LANES];
    memcpy(sum, lanes, sizeof sum);
    for (int half = GLINT_DOT_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            sum[i] += sum[i + half];
    return sum[0];
}

// Columns [col, col + n) of a weight row as floats, zeros after them up to a multiple of 16.
static const float *decode_row(const struct block *block, int64_t row, int64_t col, int n,
                               float *to) {
    const struct glint_matrix *w = block->w;
    const char *data = (const char *)w->data + (size_t)row * w->row_bytes +
                       (size_t)col / block->info->block_len * block->info->block_bytes;
    if (w->dtype == GLINT_DTYPE_F32 && n % GLINT_DOT_LANES == 0)
        return (const float *)(const void *)data;
    if (block->kernels->decode[w->dtype] != NULL)
        block->kernels->decode[w->dtype](data, to, (size_t)n);
    else
        block->info->decode(data, to, (size_t)n);
    for (; n % GLINT_DOT_LANES != 0; n++)
        to[n] = 0;
    return to;
}

static void multiply_rows(const struct block *block, struct glint_range rows, int64_t col,
                          int n_col, float *lanes) {
    int64_t last = rows.end - 1;
    struct glint_dot job = {
        .lanes = lanes,
        .x = block->x + col,
        .x_stride = (size_t)block->w->n_col,
        .n_token = block->n,
        .n_col = n_col,
    };
    for (int i = 0; i < GLINT_DOT_ROWS; i++) {
        // Past the last row the first is multiplied again and the result is not used.
        int64_t row = rows.begin + i;
        job.w[i] =
            row > last ? job.w[0] : decode_row(block, row, col, n_col, block->worker->decoded[i]);
    }
    block->kernels->dot(&job);
}

static void multiply_group(const struct block *block, struct glint_range rows) {
    float *acc = block->worker->acc;
    size_t row_floats = (size_t)block->n * GLINT_DOT_LANES;
    size_t n_row =
        (size_t)(rows.end - rows.begin + GLINT_DOT_ROWS - 1) / GLINT_DOT_ROWS * GLINT_DOT_ROWS;
    memset(acc, 0, n_row * row_floats * sizeof(float));
    for (int64_t col = 0; col < block->w->n_col; col += GLINT_DOT_COLS) {
        int64_t left = block->w->n_col - col;
        int n_col = left < GLINT_DOT_COLS ? (int)left : GLINT_DOT_COLS;
        for (int64_t r = rows.begin; r < rows.end; r += GLINT_DOT_ROWS)
            multiply_rows(block, (struct glint_range){r, rows.end}, col, n_col,
                          acc + (size_t)(r - rows.begin) * row_floats);
    }
    for (int t = 0; t < block->n; t++)
        for (int64_t r = rows.begin; r < rows.end; r++)
            block->out[t * block->w->n_row + r] =
                fold(acc + (size_t)(r - rows.begin) * row_floats + (size_t)t * GLINT_DOT_LANES);
}

// One row of x, where decoding and multiplying are one kernel: the weights are four streams, read
// once and stored nowhere.
static void multiply_one(const struct block *block, struct glint_range rows) {
    const struct glint_matrix *w = block->w;
    for (int64_t r = rows.begin; r < rows.end; r += GLINT_DOT_ROWS) {
        float lanes[GLINT_DOT_ROWS][GLINT_DOT_LANES];
        const void *row[GLINT_DOT_ROWS];
        for (int i = 0; i < GLINT_DOT_ROWS; i++) // past the last row the first again, unused
            row[i] = (const char *)w->data + (size_t)(r + i < rows.end ? r + i : r) * w->row_bytes;
        block->kernels->dot_one[w->dtype](lanes, row, block->x, w->n_col);
        for (int i = 0; i < GLINT_DOT_ROWS && r + i < rows.end; i++)
            block->out[r + i] = fold(lanes[i]);
    }
}

// Rows of one matrix for all of x.
static void multiply_matrix(struct glint_cpu *cpu, const struct glint_op_matmul *op, int i_matrix,
                            struct glint_range rows, int i_worker) {
    const struct glint_matrix *w = op->w[i_matrix];
    struct block block = {
        .kernels = &cpu->matmul->kernels,
        .worker = &cpu->matmul->worker[i_worker],
        .w = w,
        .info = glint_dtype_info((uint32_t)w->dtype),
    };
    for (int begin = 0; begin < op->n; begin += GLINT_DOT_TOKENS) {
        block.out = op->out[i_matrix] + begin * w->n_row;
        block.x = op->x + begin * w->n_col;
        block.n = op->n - begin < GLINT_DOT_TOKENS ? op->n - begin : GLINT_DOT_TOKENS;
        if (block.n == 1 && block.kernels->dot_one[w->dtype] != NULL) {
            multiply_one(&block, rows);
            continue;
        }
        // Few rows of x stay cached anyway: then the weights are read as few streams.
        int64_t step = block.n <= 8 ? GLINT_DOT_ROWS : GLINT_DOT_GROUP_ROWS;
        for (int64_t r = rows.begin; r < rows.end; r += step)
            multiply_group(&block,
                           (struct glint_range){r, r + step < rows.end ? r + step : rows.end});
    }
}

struct job {
    struct glint_cpu *cpu;
    const struct glint_op_matmul *op;
};

static void multiply_share(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    for (int m = 0; m < job->op->n_matrix; m++)
        multiply_matrix(job->cpu, job->op, m,
                        glint_pool_range(job->op->w[m]->n_row, GLINT_DOT_ROWS, i_worker, n_workers),
                        i_worker);
}

void glint_matmul_float(struct glint_cpu *cpu, const struct glint_op_matmul *op) {
    struct job job = {cpu, op};
    glint_cpu_run(cpu, glint_matmul_work(op, op->n), multiply_share, &job);
}
