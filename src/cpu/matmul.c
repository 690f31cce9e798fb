// SPDX-License-Identifier: Apache-2.0
// matmul.c — matrix products by decoding each weight row to float32 and summing in double.
// Output rows are divided over the workers; every one is computed by a single thread.
#include "cpu/matmul.h"

#include "base/alloc.h"
#include "cpu/cpu_backend.h"

struct glint_cpu_matmul {
    float *row; // [n_workers][max_col], one decoded weight row each
};

enum glint_status glint_cpu_matmul_open(struct glint_cpu *cpu, struct glint_error *err) {
    cpu->matmul = glint_alloc(1, sizeof *cpu->matmul);
    if (cpu->matmul == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "cpu: no memory for matrix products");
    size_t row = (size_t)cpu->limits.max_col * sizeof(float);
    cpu->matmul->row = glint_alloc((size_t)cpu->n_workers, row);
    if (cpu->matmul->row == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "cpu: no memory for matrix products");
    return GLINT_OK;
}

void glint_cpu_matmul_close(struct glint_cpu *cpu) {
    if (cpu->matmul == NULL)
        return;
    glint_free(cpu->matmul->row);
    glint_free(cpu->matmul);
    cpu->matmul = NULL;
}

enum glint_status glint_cpu_matmul_bind(struct glint_cpu *cpu, struct glint_matrix *matrix,
                                        struct glint_error *err) {
    (void)cpu;
    (void)matrix;
    (void)err;
    return GLINT_OK;
}

struct job {
    struct glint_cpu *cpu;
    const struct glint_op_matmul *op;
};

static void multiply_rows(const struct glint_op_matmul *op, int i_matrix, struct glint_range range,
                          float *row) {
    const struct glint_matrix *w = op->w[i_matrix];
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)w->dtype);
    for (int64_t r = range.begin; r < range.end; r++) {
        info->decode((const char *)w->data + (size_t)r * w->row_bytes, row, (size_t)w->n_col);
        for (int i = 0; i < op->n; i++) {
            const float *x = op->x + (int64_t)i * w->n_col;
            double sum = 0;
            for (int64_t c = 0; c < w->n_col; c++)
                sum += (double)row[c] * x[c];
            op->out[i_matrix][i * w->n_row + r] = (float)sum;
        }
    }
}

static void multiply(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    float *row = job->cpu->matmul->row + (int64_t)i_worker * job->cpu->limits.max_col;
    for (int m = 0; m < job->op->n_matrix; m++)
        multiply_rows(job->op, m, glint_pool_range(job->op->w[m]->n_row, 1, i_worker, n_workers),
                      row);
}

void glint_cpu_matmul(struct glint_backend *backend, const struct glint_op_matmul *op) {
    struct job job = {glint_cpu_of(backend), op};
    int64_t work = 0;
    for (int m = 0; m < op->n_matrix; m++)
        work += (int64_t)op->n * op->w[m]->n_row * op->w[m]->n_col;
    glint_cpu_run(job.cpu, work, multiply, &job);
}
