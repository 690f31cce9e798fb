// SPDX-License-Identifier: Apache-2.0
// product.c — weights to the device, and the matmul op: rounds x once for all quantized matrices,
// picks the kernel by the number of rows (the bits are the same), and sends float weights and exact
// activations to the float32 kernel.
#include "base/alloc.h"
#include "cuda/cuda_backend.h"

#include <string.h>

enum {
    FEW_ROWS = 32,         // of x, at most, for product_few
    MAX_ROUNDED = 2048,    // rows of x rounded and multiplied together
    PIECE_BYTES = 32 << 20 // of a matrix on its way; two of them in pinned memory
};

static int round_up(int64_t n, int step) {
    return (int)((n + step - 1) / step * step);
}

static bool is_packed(enum glint_dtype dtype) {
    return !glint_dtype_info((uint32_t)dtype)->is_float;
}

struct glint_cuda_matrix glint_cuda_matrix_of(const struct glint_matrix *matrix) {
    return (struct glint_cuda_matrix){
        .data = matrix->data,
        .dtype = (int)matrix->dtype,
        .n_row = (int)matrix->n_row,
        .n_col = (int)matrix->n_col,
        .n_tile_col = is_packed(matrix->dtype)
                          ? round_up(matrix->n_col, GLINT_PACKED_COLS) / GLINT_PACKED_COLS
                          : 0};
}

// ---- weights --------------------------------------------------------------------------------

// Bytes of a tile: those of its 16 rows in the file; Q3_K's scales are a byte each here.
static size_t tile_bytes(enum glint_dtype dtype) {
    size_t row = glint_dtype_bytes(dtype, GLINT_PACKED_COLS);
    return GLINT_PACKED_ROWS * (dtype == GLINT_DTYPE_Q3_K ? row + 4 : row);
}

static enum glint_status failure(struct glint_cuda *cuda, const struct glint_matrix *matrix,
                                 struct glint_error *err) {
    return glint_fail(
        err, GLINT_E_DEVICE, "cuda: %s (%s) while loading a matrix of %lld x %lld, %s",
        cudaGetErrorName(cuda->failed), cudaGetErrorString(cuda->failed), (long long)matrix->n_row,
        (long long)matrix->n_col, glint_dtype_info((uint32_t)matrix->dtype)->name);
}

// Copies rows [row, row + n) through pinned memory: while one half travels, the other is filled.
static void send_rows(struct glint_cuda *cuda, const struct glint_matrix *matrix, void *data,
                      int64_t row, int64_t n, int i_piece) {
    size_t bytes = (size_t)n * matrix->row_bytes;
    char *half = cuda->pinned + (size_t)(i_piece % 2) * PIECE_BYTES;
    char *to = is_packed(matrix->dtype) ? cuda->raw + (size_t)(i_piece % 2) * PIECE_BYTES
                                        : (char *)data + (size_t)row * matrix->row_bytes;
    glint_cuda_check(cuda, cudaEventSynchronize(cuda->sent[i_piece % 2]), "bind", 0);
    memcpy(half, (const char *)matrix->data + (size_t)row * matrix->row_bytes, bytes);
    glint_cuda_check(cuda, cudaMemcpyAsync(to, half, bytes, cudaMemcpyHostToDevice, cuda->stream),
                     "bind", 0);
    glint_cuda_check(cuda, cudaEventRecord(cuda->sent[i_piece % 2], cuda->stream), "bind", 0);
    if (!is_packed(matrix->dtype))
        return;
    struct glint_cuda_pack params = {.out = data,
                                     .in = to,
                                     .dtype = (int)matrix->dtype,
                                     .n_row = (int)n,
                                     .n_col = (int)matrix->n_col,
                                     .i_tile = (int)(row / GLINT_PACKED_ROWS)};
    unsigned n_tile_col = (unsigned)round_up(matrix->n_col, GLINT_PACKED_COLS) / GLINT_PACKED_COLS;
    unsigned n_tile_row = (unsigned)round_up(n, GLINT_PACKED_ROWS) / GLINT_PACKED_ROWS;
    glint_cuda_push(
        cuda, cuda->kernels.pack,
        &(struct glint_cuda_shape){.op = "bind", .grid = {n_tile_col, n_tile_row}, .block = 128},
        &params, GLINT_CUDA_END(struct glint_cuda_pack, i_tile));
    glint_cuda_flush(cuda);
}

static enum glint_status keep(struct glint_cuda *cuda, void *block, struct glint_error *err) {
    if (cuda->n_weight == cuda->max_weight) {
        size_t n = cuda->max_weight ? 2 * cuda->max_weight : 64;
        void **grown = glint_alloc(n, sizeof *grown);
        if (!grown)
            return glint_fail(err, GLINT_E_NOMEM, "cuda: no memory for the list of %zu matrices",
                              n);
        if (cuda->n_weight > 0)
            memcpy(grown, cuda->weights, cuda->n_weight * sizeof *grown);
        glint_free(cuda->weights);
        cuda->weights = grown;
        cuda->max_weight = n;
    }
    cuda->weights[cuda->n_weight++] = block;
    return GLINT_OK;
}

enum glint_status glint_cuda_bind(struct glint_backend *backend, struct glint_matrix *matrix,
                                  struct glint_error *err) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)matrix->dtype);
    GLINT_REQUIRE(info != NULL, err);
    GLINT_REQUIRE(matrix->n_col >= 1 && matrix->n_col <= cuda->limits.max_col, err);
    GLINT_REQUIRE(matrix->n_col % info->block_len == 0 && matrix->n_row >= 1, err);
    GLINT_REQUIRE(matrix->row_bytes == glint_dtype_bytes(matrix->dtype, (uint64_t)matrix->n_col),
                  err);
    GLINT_REQUIRE(matrix->n_row <= INT32_MAX - GLINT_PACKED_ROWS, err);
    size_t bytes = (size_t)matrix->n_row * matrix->row_bytes;
    if (!info->is_float)
        bytes = (size_t)round_up(matrix->n_row, GLINT_PACKED_ROWS) / GLINT_PACKED_ROWS *
                (size_t)(round_up(matrix->n_col, GLINT_PACKED_COLS) / GLINT_PACKED_COLS) *
                tile_bytes(matrix->dtype);
    int64_t n_piece =
        PIECE_BYTES / (int64_t)matrix->row_bytes / GLINT_PACKED_ROWS * GLINT_PACKED_ROWS;
    if (n_piece == 0)
        return glint_fail(err, GLINT_E_LIMIT, "cuda: rows of %lld columns, expected fewer",
                          (long long)matrix->n_col);
    void *data = NULL;
    if (cudaMalloc(&data, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return glint_fail(err, GLINT_E_NOMEM,
                          "cuda: no memory for a matrix of %lld x %lld, %s: %zu bytes",
                          (long long)matrix->n_row, (long long)matrix->n_col, info->name, bytes);
    }
    enum glint_status status = keep(cuda, data, err);
    if (status != GLINT_OK) {
        (void)cudaFree(data);
        return status;
    }
    glint_cuda_drain(cuda); // pinned memory is free
    int i_piece = 0;
    for (int64_t row = 0; row < matrix->n_row; row += n_piece) {
        int64_t left = matrix->n_row - row;
        send_rows(cuda, matrix, data, row, left < n_piece ? left : n_piece, i_piece++);
    }
    if (cuda->failed != cudaSuccess)
        return failure(cuda, matrix, err);
    matrix->data = data;
    return GLINT_OK;
}

// ---- products -------------------------------------------------------------------------------

struct glint_cuda_scratch glint_cuda_scratch_for(const struct glint_backend_limits *limits) {
    int n_token = round_up(limits->max_rows, GLINT_MANY_TOKENS);
    n_token = n_token < MAX_ROUNDED ? n_token : MAX_ROUNDED;
    size_t n_col = (size_t)round_up(limits->max_col, GLINT_PACKED_COLS);
    size_t n_split = (size_t)limits->max_context / GLINT_CUDA_SPLIT + 2;
    n_split += n_split / 8 + 1; // see round_splits
    // Sixteen rows of the longest sequence, but no more than they need.
    size_t row =
        n_split * (size_t)limits->max_head * (size_t)(limits->head_dim + 2) * sizeof(float);
    size_t n_row = (size_t)(limits->max_rows < 16 ? limits->max_rows : 16);
    return (struct glint_cuda_scratch){.half = n_col * (size_t)n_token * 2,
                                       .sum = n_col / 32 * 3 * (size_t)n_token * sizeof(float),
                                       .unscale =
                                           GLINT_PACKED_RANGES * (size_t)n_token * sizeof(float),
                                       .part = row * n_row,
                                       .n_token = n_token};
}

static void push_exact(struct glint_cuda *cuda, const struct glint_op_matmul *op, int m) {
    struct glint_cuda_exact params = {
        .x = op->x, .w = glint_cuda_matrix_of(op->w[m]), .out = op->out[m], .n = op->n};
    glint_cuda_push(cuda, cuda->kernels.exact,
                    &(struct glint_cuda_shape){.op = "matmul (float32)",
                                               .grid = {(unsigned)round_up(params.w.n_row, 16) / 16,
                                                        (unsigned)round_up(op->n, 8) / 8},
                                               .block = GLINT_CUDA_THREADS,
                                               .rows = op->n},
                    &params, GLINT_CUDA_END(struct glint_cuda_exact, n));
}

// Rows [at, at + n) of x times the quantized matrices.
static void push_quant(struct glint_cuda *cuda, const struct glint_op_matmul *op, int at, int n) {
    struct glint_cuda_product params = {.x = cuda->x, .n = n};
    bool many = n > FEW_ROWS;
    int step = many ? GLINT_MANY_ROWS : GLINT_PACKED_ROWS;
    int64_t n_col = op->w[0]->n_col;
    int kernel = n <= 8 ? 0 : n <= 16 ? 1 : 2;
    params.x.n_token = many ? round_up(n, GLINT_MANY_TOKENS) : 8 << kernel;
    params.x.n_tile_col = round_up(n_col, GLINT_PACKED_COLS) / GLINT_PACKED_COLS;
    for (int m = 0; m < op->n_matrix; m++) {
        if (op->exact || !is_packed(op->w[m]->dtype))
            continue;
        int i = params.n_matrix++;
        params.w[i] = glint_cuda_matrix_of(op->w[m]);
        params.out[i] = op->out[m] + at * op->w[m]->n_row;
        params.first_tile[i + 1] = params.first_tile[i] + round_up(params.w[i].n_row, step) / step;
    }
    struct glint_cuda_round round = {
        .to = params.x, .x = op->x + at * n_col, .n = n, .n_col = (int)n_col};
    glint_cuda_push(cuda, cuda->kernels.round,
                    &(struct glint_cuda_shape){.op = "matmul (rounding)",
                                               .grid = {GLINT_PACKED_RANGES, (unsigned)n},
                                               .block = GLINT_CUDA_THREADS,
                                               .rows = n},
                    &round, GLINT_CUDA_END(struct glint_cuda_round, n_col));
    struct glint_cuda_shape shape = {
        .op = "matmul",
        .grid = {(unsigned)params.first_tile[params.n_matrix],
                 many ? (unsigned)params.x.n_token / GLINT_MANY_TOKENS : 1},
        .block = GLINT_CUDA_THREADS,
        .shared_bytes = many ? GLINT_MANY_STAGES * GLINT_MANY_STAGE_BYTES : 0,
        .rows = n};
    glint_cuda_push(cuda, many ? cuda->kernels.product_many : cuda->kernels.product_few[kernel],
                    &shape, &params, GLINT_CUDA_END(struct glint_cuda_product, first_tile));
}

void glint_cuda_matmul(struct glint_backend *backend, const struct glint_op_matmul *op) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    bool quant = false;
    if (op->n == 0)
        return;
    for (int m = 0; m < op->n_matrix; m++) {
        if (op->exact || !is_packed(op->w[m]->dtype))
            push_exact(cuda, op, m);
        else
            quant = true;
    }
    for (int at = 0; quant && at < op->n; at += cuda->x.n_token) {
        int left = op->n - at;
        push_quant(cuda, op, at, left < cuda->x.n_token ? left : cuda->x.n_token);
    }
}
