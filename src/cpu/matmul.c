// SPDX-License-Identifier: Apache-2.0
// matmul.c — the matmul op: owns the state, sends each matrix to the integer path (matmul_quant.c)
// or the float path (matmul_float.c), which divide output rows over the workers; every output is
// computed by one thread in a fixed order.
#include "cpu/matmul.h"

#include "base/alloc.h"
#include "cpu/matmul_state.h"

static size_t stretches(int64_t n_col) {
    return ((size_t)n_col + GLINT_TILE_COLS - 1) / GLINT_TILE_COLS;
}

static void fill_kernels(struct glint_matmul_kernels *kernels, enum glint_cpu_tier tier) {
    glint_matmul_init_scalar(kernels);
#if defined(GLINT_CPU_X86)
    if (tier >= GLINT_CPU_TIER_AVX2)
        glint_matmul_init_avx2(kernels);
    if (tier >= GLINT_CPU_TIER_AVX512)
        glint_matmul_init_avx512(kernels);
    if (tier >= GLINT_CPU_TIER_VNNI)
        glint_matmul_init_vnni(kernels);
#elif defined(GLINT_CPU_ARM)
    if (tier >= GLINT_CPU_TIER_NEON)
        glint_matmul_init_neon(kernels);
    if (tier >= GLINT_CPU_TIER_DOTPROD)
        glint_matmul_init_dotprod(kernels);
#else
    (void)tier;
#endif
}

static bool take_scratch(struct glint_cpu *cpu) {
    struct glint_cpu_matmul *matmul = cpu->matmul;
    int rows =
        cpu->limits.max_rows < GLINT_MATMUL_CHUNK ? cpu->limits.max_rows : GLINT_MATMUL_CHUNK;
    size_t count = stretches(cpu->limits.max_col) * (size_t)rows;
    matmul->q = glint_alloc(count, GLINT_TILE_COLS);
    matmul->scale = glint_alloc(count, GLINT_TILE_BLOCKS * sizeof(float));
    matmul->worker = glint_alloc((size_t)cpu->n_workers, sizeof *matmul->worker);
    bool ok = matmul->q != NULL && matmul->scale != NULL && matmul->worker != NULL;
    for (int i = 0; i < GLINT_MATMUL_MAX; i++) {
        matmul->bias[i] = glint_alloc(count, GLINT_TILE_SUBS * sizeof(float));
        ok = ok && matmul->bias[i] != NULL;
    }
    return ok;
}

enum glint_status glint_cpu_matmul_open(struct glint_cpu *cpu, struct glint_error *err) {
    cpu->matmul = glint_alloc(1, sizeof *cpu->matmul);
    if (cpu->matmul == NULL || !take_scratch(cpu))
        return glint_fail(err, GLINT_E_NOMEM, "cpu: no memory for matrix products of %d columns",
                          cpu->limits.max_col);
    fill_kernels(&cpu->matmul->kernels, cpu->tier);
    return GLINT_OK;
}

void glint_cpu_matmul_close(struct glint_cpu *cpu) {
    if (cpu->matmul == NULL)
        return;
    glint_free(cpu->matmul->q);
    glint_free(cpu->matmul->scale);
    glint_free(cpu->matmul->worker);
    for (int i = 0; i < GLINT_MATMUL_MAX; i++)
        glint_free(cpu->matmul->bias[i]);
    glint_free(cpu->matmul);
    cpu->matmul = NULL;
}

enum glint_status glint_cpu_matmul_bind(struct glint_cpu *cpu, struct glint_matrix *matrix,
                                        struct glint_error *err) {
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)matrix->dtype);
    GLINT_REQUIRE(info != NULL, err);
    GLINT_REQUIRE(matrix->n_col >= 1 && matrix->n_col <= cpu->limits.max_col, err);
    GLINT_REQUIRE(matrix->n_col % info->block_len == 0, err);
    GLINT_REQUIRE(matrix->row_bytes == glint_dtype_bytes(matrix->dtype, (uint64_t)matrix->n_col),
                  err);
    return GLINT_OK;
}

static bool by_float(const struct glint_op_matmul *op, int i_matrix) {
    return op->exact || glint_dtype_info((uint32_t)op->w[i_matrix]->dtype)->is_float;
}

int64_t glint_matmul_work(const struct glint_op_matmul *op, int n) {
    int64_t work = 0;
    for (int m = 0; m < op->n_matrix; m++)
        work += (int64_t)n * op->w[m]->n_row * op->w[m]->n_col / 16;
    return work;
}

void glint_cpu_matmul(struct glint_backend *backend, const struct glint_op_matmul *op) {
    struct glint_cpu *cpu = glint_cpu_of(backend);
    struct glint_op_matmul path[2] = {*op, *op}; // the matrices of the integer and the float path
    path[0].n_matrix = path[1].n_matrix = 0;
    for (int m = 0; m < op->n_matrix; m++) {
        struct glint_op_matmul *to = &path[by_float(op, m)];
        to->w[to->n_matrix] = op->w[m];
        to->out[to->n_matrix++] = op->out[m];
    }
    if (path[0].n_matrix > 0)
        glint_matmul_quant(cpu, &path[0]);
    if (path[1].n_matrix > 0)
        glint_matmul_float(cpu, &path[1]);
}
