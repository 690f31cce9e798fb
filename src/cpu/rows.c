// SPDX-License-Identifier: Apache-2.0
// rows.c — every op but matmul and attention: divides rows or ranges over the workers and calls
// the tier's kernels. A row is always handled by one worker, so nothing depends on their number.
#include "base/alloc.h"
#include "base/half.h"
#include "cpu/cpu_backend.h"

#include <math.h>
#include <string.h>

// Cosines and sines of the rows of the current step. All layers, and q and k, turn row i by the
// same angles, so they are computed once a step: entry i is reused while position and
// frequencies stay as they were. Row i belongs to one worker during an op.
struct glint_rope_cache {
    float *inv_freq;   // [head_dim / 2] that the entries were made with
    int n_pair;        // of inv_freq; 0: nothing yet
    int32_t *position; // [max_rows]; -1: empty
    float *turn;       // [max_rows][head_dim / 2][2: cos, sin]
};

enum glint_status glint_cpu_rows_open(struct glint_cpu *cpu, struct glint_error *err) {
    size_t max_rows = (size_t)cpu->limits.max_rows;
    size_t n_pair = (size_t)cpu->limits.head_dim / 2 + 1;
    cpu->rope = glint_alloc(1, sizeof *cpu->rope);
    if (cpu->rope == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "cpu: no memory for rotation tables");
    cpu->rope->inv_freq = glint_alloc(n_pair, sizeof(float));
    cpu->rope->position = glint_alloc(max_rows, sizeof(int32_t));
    cpu->rope->turn = glint_alloc(max_rows, n_pair * 2 * sizeof(float));
    if (cpu->rope->inv_freq == NULL || cpu->rope->position == NULL || cpu->rope->turn == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "cpu: no memory for rotation tables");
    return GLINT_OK;
}

void glint_cpu_rows_close(struct glint_cpu *cpu) {
    if (cpu->rope == NULL)
        return;
    glint_free(cpu->rope->inv_freq);
    glint_free(cpu->rope->position);
    glint_free(cpu->rope->turn);
    glint_free(cpu->rope);
    cpu->rope = NULL;
}

// An op and its backend, as the pool hands them to a worker.
struct job {
    struct glint_cpu *cpu;
    const void *op;
};

static void embed_rows(void *context, int i_worker, int n_workers) {
    const struct glint_op_embed *op = ((const struct job *)context)->op;
    const struct glint_matrix *table = op->table;
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)table->dtype);
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        info->decode((const char *)table->data + (size_t)op->id[i] * table->row_bytes,
                     op->out + i * table->n_col, (size_t)table->n_col);
}

static void embed(struct glint_backend *backend, const struct glint_op_embed *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, 2 * op->n * op->table->n_col, embed_rows, &job);
}

static void rms_norm_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_rms_norm *op = job->op;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        job->cpu->kernels.rms_norm(op->out + i * op->width, op->x + i * op->width, op->gain,
                                   op->epsilon, op->width);
}

static void rms_norm(struct glint_backend *backend, const struct glint_op_rms_norm *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, op->n > 1 ? (int64_t)op->n * op->width / 2 : 0, rms_norm_rows, &job);
}

static void add_rms_norm_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_add_rms_norm *op = job->op;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        job->cpu->kernels.add_rms_norm(op->h + i * op->width, op->y + i * op->width, op->gain,
                                       op->epsilon, op->width);
}

static void add_rms_norm(struct glint_backend *backend, const struct glint_op_add_rms_norm *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, op->n > 1 ? (int64_t)op->n * op->width / 2 : 0, add_rms_norm_rows, &job);
}

static void layer_norm_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_layer_norm *op = job->op;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        job->cpu->kernels.layer_norm(op->out + i * op->width, op->x + i * op->width, op);
}

static void layer_norm(struct glint_backend *backend, const struct glint_op_layer_norm *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, (int64_t)op->n * op->width / 2, layer_norm_rows, &job);
}

static void add_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_add *op = job->op;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        job->cpu->kernels.add(op->x + i * op->width, op->y ? op->y + i * op->width : NULL, op->bias,
                              op->width);
}

static void add(struct glint_backend *backend, const struct glint_op_add *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, (int64_t)op->n * op->width / 4, add_rows, &job);
}

static void gelu_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_gelu *op = job->op;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        job->cpu->kernels.gelu(op->x + i * op->width, op->bias, op->width);
}

static void gelu(struct glint_backend *backend, const struct glint_op_gelu *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, (int64_t)op->n * op->width * 2, gelu_rows, &job);
}

static void rotate_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_rotate *op = job->op;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        for (int h = 0; h < op->n_head; h++)
            job->cpu->kernels.rotate(op->x + (i * op->n_head + h) * op->head_dim,
                                     op->turn + i * op->head_dim, op->head_dim / 2);
}

static void rotate(struct glint_backend *backend, const struct glint_op_rotate *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, (int64_t)op->n * op->n_head * op->head_dim / 4, rotate_rows, &job);
}

// The angle is the float32 product; cosine and sine of it are rounded once from double.
static void make_turn(float *turn, const float *inv_freq, int n_pair, int32_t position) {
    for (int i = 0; i < n_pair; i++) {
        float angle = (float)position * inv_freq[i];
        turn[2 * i] = (float)cos((double)angle);
        turn[2 * i + 1] = (float)sin((double)angle);
    }
}

static void head_norm_rope_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_head_norm_rope *op = job->op;
    const struct glint_cpu_kernels *kernels = &job->cpu->kernels;
    struct glint_rope_cache *rope = job->cpu->rope;
    int n_pair = op->head_dim / 2;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++) {
        float *turn = rope->turn + i * n_pair * 2;
        if (op->inv_freq != NULL && rope->position[i] != op->position[i]) {
            make_turn(turn, op->inv_freq, n_pair, op->position[i]);
            rope->position[i] = op->position[i];
        }
        for (int h = 0; h < op->n_head; h++) {
            float *x = op->x + (i * op->n_head + h) * op->head_dim;
            kernels->rms_norm(x, x, op->gain, op->epsilon, op->head_dim);
            if (op->inv_freq != NULL)
                (op->halves ? kernels->rotate_halves : kernels->rotate)(x, turn, n_pair);
        }
    }
}

static void head_norm_rope(struct glint_backend *backend,
                           const struct glint_op_head_norm_rope *op) {
    struct job job = {glint_cpu_of(backend), op};
    struct glint_rope_cache *rope = job.cpu->rope;
    int n_pair = op->head_dim / 2;
    GLINT_ASSERT(op->n <= job.cpu->limits.max_rows && op->head_dim <= job.cpu->limits.head_dim);
    if (op->inv_freq != NULL &&
        (rope->n_pair != n_pair ||
         memcmp(rope->inv_freq, op->inv_freq, (size_t)n_pair * sizeof(float)))) {
        memcpy(rope->inv_freq, op->inv_freq, (size_t)n_pair * sizeof(float));
        rope->n_pair = n_pair;
        for (int i = 0; i < job.cpu->limits.max_rows; i++)
            rope->position[i] = -1;
    }
    glint_cpu_run(job.cpu, op->n > 1 ? (int64_t)op->n * op->n_head * op->head_dim : 0,
                  head_norm_rope_rows, &job);
}

static void store_row(const struct glint_cpu_kernels *kernels, enum glint_dtype dtype, char *to,
                      const float *x, int n) {
    if (dtype == GLINT_DTYPE_F32)
        memcpy(to, x, (size_t)n * sizeof *x);
    else if (dtype == GLINT_DTYPE_F16)
        kernels->half_from_float((uint16_t *)(void *)to, x, n);
    else
        glint_dtype_info((uint32_t)dtype)->encode(x, NULL, to, (size_t)n);
}

static void kv_store_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_kv_store *op = job->op;
    const struct glint_kv_plane *plane = op->plane;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++) {
        struct glint_kv_ref ref = op->ref[i];
        for (int h = 0; h < plane->n_head_kv; h++) {
            int64_t at = (i * plane->n_head_kv + h) * plane->head_dim;
            store_row(&job->cpu->kernels, plane->dtype_k,
                      glint_kv_row(plane, ref.table, op->i_layer, 0, h, ref.position), op->k + at,
                      plane->head_dim);
            store_row(&job->cpu->kernels, plane->dtype_v,
                      glint_kv_row(plane, ref.table, op->i_layer, 1, h, ref.position), op->v + at,
                      plane->head_dim);
        }
    }
}

static void kv_store(struct glint_backend *backend, const struct glint_op_kv_store *op) {
    struct job job = {glint_cpu_of(backend), op};
    int64_t width = (int64_t)op->plane->n_head_kv * op->plane->head_dim;
    glint_cpu_run(job.cpu, op->n > 1 ? op->n * width : 0, kv_store_rows, &job);
}

// Ranges of the flat ops start at multiples of a cache line, so that no two workers write one.
enum { LINE = 16, CYCLES_A_VALUE = 2 };

static void gate_range(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_gate *op = job->op;
    struct glint_range range = glint_pool_range(op->count, LINE, i_worker, n_workers);
    job->cpu->kernels.gate(op->a + range.begin, op->g + range.begin, range.end - range.begin);
}

static void gate(struct glint_backend *backend, const struct glint_op_gate *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, op->count * CYCLES_A_VALUE, gate_range, &job);
}

static void swiglu_range(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_swiglu *op = job->op;
    struct glint_range range = glint_pool_range(op->count, LINE, i_worker, n_workers);
    job->cpu->kernels.swiglu(op->gate + range.begin, op->up + range.begin, range.end - range.begin);
}

static void swiglu(struct glint_backend *backend, const struct glint_op_swiglu *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, op->count * CYCLES_A_VALUE, swiglu_range, &job);
}

static void softcap_range(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_softcap *op = job->op;
    struct glint_range range = glint_pool_range(op->count, LINE, i_worker, n_workers);
    job->cpu->kernels.softcap(op->x + range.begin, range.end - range.begin, op->scale, op->cap);
}

static void softcap(struct glint_backend *backend, const struct glint_op_softcap *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, op->count * CYCLES_A_VALUE, softcap_range, &job);
}

static void copy_rows(struct glint_backend *backend, const struct glint_op_copy_rows *op) {
    (void)backend;
    for (int64_t i = 0; i < op->n; i++)
        memcpy(op->out + i * op->out_stride, op->x + i * op->x_stride,
               (size_t)op->width * sizeof *op->out);
}

static void best_rows(void *context, int i_worker, int n_workers) {
    const struct job *job = context;
    const struct glint_op_best *op = job->op;
    struct glint_range range = glint_pool_range(op->n, 1, i_worker, n_workers);
    for (int64_t i = range.begin; i < range.end; i++)
        op->id[i] = job->cpu->kernels.best(op->x + i * op->width, op->width);
}

static void best(struct glint_backend *backend, const struct glint_op_best *op) {
    struct job job = {glint_cpu_of(backend), op};
    glint_cpu_run(job.cpu, op->n > 1 ? (int64_t)op->n * op->width : 0, best_rows, &job);
}

void glint_cpu_rows_fill(struct glint_backend_ops *ops) {
    ops->embed = embed;
    ops->rms_norm = rms_norm;
    ops->add_rms_norm = add_rms_norm;
    ops->layer_norm = layer_norm;
    ops->add = add;
    ops->gelu = gelu;
    ops->rotate = rotate;
    ops->head_norm_rope = head_norm_rope;
    ops->kv_store = kv_store;
    ops->gate = gate;
    ops->swiglu = swiglu;
    ops->softcap = softcap;
    ops->copy_rows = copy_rows;
    ops->best = best;
}
