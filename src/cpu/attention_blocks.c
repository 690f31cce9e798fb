// SPDX-License-Identifier: Apache-2.0
// attention_blocks.c — divides attention into blocks and merges the splits of a block.
//
// A block is up to GLINT_ATTENTION_ROWS neighbouring rows of one sequence times some heads of one
// KV head. Its keys come in splits of GLINT_KV_SPLIT positions; the kernel gives the softmax of
// a split, and splits are merged in ascending order by merge() alone. Two ways to divide the
// work, with the same bits:
//   whole:  a worker takes a block and merges its splits as it goes (many rows: prefill);
//   parts:  a worker takes one split of a block and leaves the result in `part`; the merge
//           follows when all are done (few rows: decode, verify).
// Workers claim units from a counter: which one computes what changes no result.
#include "cpu/attention_blocks.h"

#include "base/alloc.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    PART_ROWS = 8,         // rows that `part` holds at full context
    MIN_HEADS = 4,         // of a block, when heads are divided to occupy many workers
    BLOCKS_A_WORKER = 4,   // so that the last to finish is not alone for long
    WORTH_SHARING = 40000, // cycles
};

// One worker's memory.
struct worker {
    struct glint_attention_scratch scratch;
    float *q, *sum, *run;                             // [VECTORS][D]
    float *largest, *total, *run_largest, *run_total; // [VECTORS]
};

// Rows [i_row, i_row + n_row) of one sequence.
struct rows {
    int i_row, n_row;
    bool alike;             // all see the same keys
    int32_t first, n_split; // splits that any of the rows sees: first, first + 1, ...
    int i_unit;             // first unit (parts)
    int64_t i_part;         // first of [n_split][n_row][n_head] parts
};

struct glint_attention {
    struct worker *worker; // [n_workers]
    struct rows *rows;     // [max_rows]
    float *part;           // [n_part][D + 2]: sum, largest, total
    int64_t n_part;
    float *memory;
};

// What one call works on.
struct attention_job {
    struct glint_cpu *cpu;
    const struct glint_op_attention *op;
    int stride;  // D
    int group;   // query heads of a KV head
    int chunk;   // of these in a block
    int n_chunk; // blocks across the query heads: n_head_kv * ceil(group / chunk)
    int n_rows;  // entries of attention->rows in use
    int n_unit;
    int row_begin, row_end; // rows of the batch in this pass (parts)
    atomic_int next_unit, next_merge;
};

static int pad(int head_dim) {
    return (head_dim + GLINT_ATTENTION_PAD - 1) / GLINT_ATTENTION_PAD * GLINT_ATTENTION_PAD;
}

static float *cut(float **memory, size_t count) {
    float *block = *memory;
    *memory += (count + 15) / 16 * 16;
    return block;
}

static void carve_worker(struct worker *worker, float **memory, size_t d) {
    const size_t n = GLINT_ATTENTION_VECTORS, tile = GLINT_KV_TILE;
    worker->scratch.tile = cut(memory, d * tile);
    worker->scratch.score = cut(memory, n * tile);
    worker->q = cut(memory, n * d);
    worker->sum = cut(memory, n * d);
    worker->run = cut(memory, n * d);
    worker->largest = cut(memory, n);
    worker->total = cut(memory, n);
    worker->run_largest = cut(memory, n);
    worker->run_total = cut(memory, n);
}

enum glint_status glint_cpu_attention_open(struct glint_cpu *cpu, struct glint_error *err) {
    const struct glint_backend_limits *limits = &cpu->limits;
    size_t d = (size_t)pad(limits->head_dim), n = GLINT_ATTENTION_VECTORS, tile = GLINT_KV_TILE;
    size_t n_workers = (size_t)cpu->n_workers;
    size_t n_split = (size_t)limits->max_context / GLINT_KV_SPLIT + 1;
    size_t part_rows = limits->max_rows < PART_ROWS ? (size_t)limits->max_rows : PART_ROWS;
    struct glint_attention *attention = glint_alloc(1, sizeof *attention);
    cpu->attention = attention;
    if (attention == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "cpu: no memory for attention");
    attention->n_part = (int64_t)(n_split * part_rows * (size_t)limits->max_head);
    attention->worker = glint_alloc(n_workers, sizeof *attention->worker);
    attention->rows = glint_alloc((size_t)limits->max_rows, sizeof *attention->rows);
    attention->part = glint_alloc((size_t)attention->n_part, (d + 2) * sizeof(float));
    size_t worker_floats = d * tile + n * tile + 3 * n * d + 4 * n;
    attention->memory = glint_alloc(n_workers, worker_floats * sizeof(float));
    if (attention->worker == NULL || attention->rows == NULL || attention->part == NULL ||
        attention->memory == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "cpu: no memory for attention at context %d",
                          limits->max_context);
    float *memory = attention->memory;
    for (size_t i = 0; i < n_workers; i++)
        carve_worker(&attention->worker[i], &memory, d);
    return GLINT_OK;
}

void glint_cpu_attention_close(struct glint_cpu *cpu) {
    if (cpu->attention == NULL)
        return;
    glint_free(cpu->attention->worker);
    glint_free(cpu->attention->rows);
    glint_free(cpu->attention->part);
    glint_free(cpu->attention->memory);
    glint_free(cpu->attention);
    cpu->attention = NULL;
}

static struct glint_attention_range visible(const struct glint_op_attention *op, int i_row) {
    int32_t p = op->ref[i_row].position;
    struct glint_attention_range see = {0, p + op->ref[i_row].ahead + 1};
    if (op->window > 0 && p >= op->window)
        see.begin = p - op->window + 1;
    return see;
}

// ---- softmaxes of splits --------------------------------------------------------------------

// A softmax over part of the keys, of one vector.
struct softmax {
    float *sum; // [D]
    float *largest, *total;
};

// Adds the keys of `next`, which follow those of `run`.
static void merge(struct softmax run, struct softmax next, int n) {
    if (*next.total == 0) // saw no key
        return;
    if (*run.total == 0) {
        memcpy(run.sum, next.sum, (size_t)n * sizeof(float));
        *run.largest = *next.largest;
        *run.total = *next.total;
        return;
    }
    float largest = *next.largest > *run.largest ? *next.largest : *run.largest;
    float keep = expf(*run.largest - largest), take = expf(*next.largest - largest);
    for (int d = 0; d < n; d++)
        run.sum[d] = run.sum[d] * keep + next.sum[d] * take;
    *run.total = *run.total * keep + *next.total * take;
    *run.largest = largest;
}

static void write_out(float *out, struct softmax run, int n) {
    float share = 1 / *run.total;
    for (int d = 0; d < n; d++)
        out[d] = run.sum[d] * share;
}

// ---- blocks ---------------------------------------------------------------------------------

// Fills `block` with rows `rows` and the chunk-th piece of the query heads; returns the heads of
// a row in it. Rows that see the same keys stand in the block as heads of one row.
static int make_block(const struct attention_job *job, const struct rows *rows, int i_chunk,
                      const struct worker *worker, struct glint_attention_block *block) {
    const struct glint_op_attention *op = job->op;
    int per_group = job->n_chunk / op->plane->n_head_kv;
    int from = i_chunk % per_group * job->chunk;
    int n_head = job->group - from < job->chunk ? job->group - from : job->chunk;
    *block = (struct glint_attention_block){
        .plane = op->plane,
        .table = op->ref[rows->i_row].table,
        .i_layer = op->i_layer,
        .head_kv = i_chunk / per_group,
        .n_row = rows->alike ? 1 : rows->n_row,
        .n_head = rows->alike ? rows->n_row * n_head : n_head,
        .stride = job->stride,
        .scale = op->scale,
        .q = worker->q,
        .largest = worker->largest,
        .total = worker->total,
        .sum = worker->sum,
        .scratch = &worker->scratch,
    };
    for (int r = 0; r < block->n_row; r++)
        block->see[r] = visible(op, rows->i_row + r);
    return n_head;
}

// The index of the block's first query head among those of a row.
static int first_head(const struct attention_job *job, int i_chunk) {
    int per_group = job->n_chunk / job->op->plane->n_head_kv;
    return i_chunk / per_group * job->group + i_chunk % per_group * job->chunk;
}

// n_head heads of each row, from `head` on.
static void load_q(const struct attention_job *job, const struct rows *rows, int head, int n_head,
                   float *to) {
    int head_dim = job->op->plane->head_dim;
    for (int m = 0; m < rows->n_row * n_head; m++) {
        int64_t i = rows->i_row + m / n_head;
        const float *q = job->op->q + (i * job->op->n_head + head + m % n_head) * head_dim;
        memcpy(to + (int64_t)m * job->stride, q, (size_t)head_dim * sizeof(float));
    }
}

static struct softmax softmax_at(float *sum, float *largest, float *total, int64_t m, int stride) {
    return (struct softmax){sum + m * stride, largest + m, total + m};
}

static void set_split(struct glint_attention_block *block, int32_t split) {
    block->split.begin = split * GLINT_KV_SPLIT;
    block->split.end = block->split.begin + GLINT_KV_SPLIT;
}

// ---- whole blocks ---------------------------------------------------------------------------

static void whole_unit(const struct attention_job *job, int unit, struct worker *worker) {
    const struct rows *rows = &job->cpu->attention->rows[unit / job->n_chunk];
    int i_chunk = unit % job->n_chunk, head = first_head(job, i_chunk), stride = job->stride;
    int head_dim = job->op->plane->head_dim;
    struct glint_attention_block block;
    int n_head = make_block(job, rows, i_chunk, worker, &block);
    load_q(job, rows, head, n_head, worker->q);
    int n_vector = rows->n_row * n_head;
    memset(worker->run_total, 0, (size_t)n_vector * sizeof(float));
    for (int32_t s = 0; s < rows->n_split; s++) {
        set_split(&block, rows->first + s);
        job->cpu->kernels.attention_split(&block);
        for (int m = 0; m < n_vector; m++)
            merge(softmax_at(worker->run, worker->run_largest, worker->run_total, m, stride),
                  softmax_at(worker->sum, worker->largest, worker->total, m, stride), head_dim);
    }
    for (int m = 0; m < n_vector; m++) {
        int64_t i = rows->i_row + m / n_head;
        float *out = job->op->out + (i * job->op->n_head + head + m % n_head) * head_dim;
        write_out(out, softmax_at(worker->run, worker->run_largest, worker->run_total, m, stride),
                  head_dim);
    }
}

static void attention_whole(void *context, int i_worker, int n_workers) {
    struct attention_job *job = context;
    struct worker *worker = &job->cpu->attention->worker[i_worker];
    (void)n_workers;
    for (;;) {
        // Relaxed: the counter alone is shared; the pool orders everything else.
        int unit = atomic_fetch_add_explicit(&job->next_unit, 1, memory_order_relaxed);
        if (unit >= job->n_unit)
            return;
        whole_unit(job, unit, worker);
    }
}

// ---- parts ----------------------------------------------------------------------------------

static float *part_at(const struct attention_job *job, const struct rows *rows, int32_t split,
                      int row, int head) {
    int64_t i = rows->i_part + ((int64_t)split * rows->n_row + row) * job->op->n_head + head;
    return job->cpu->attention->part + i * (job->stride + 2);
}

static struct softmax softmax_of_part(float *part, int stride) {
    return (struct softmax){part, part + stride, part + stride + 1};
}

static void part_unit(const struct attention_job *job, int unit, struct worker *worker) {
    const struct rows *rows = job->cpu->attention->rows;
    while (unit >= rows->i_unit + rows->n_split * job->n_chunk)
        rows++;
    int32_t split = (unit - rows->i_unit) / job->n_chunk;
    int i_chunk = (unit - rows->i_unit) % job->n_chunk, head = first_head(job, i_chunk);
    struct glint_attention_block block;
    int n_head = make_block(job, rows, i_chunk, worker, &block);
    load_q(job, rows, head, n_head, worker->q);
    set_split(&block, rows->first + split);
    job->cpu->kernels.attention_split(&block);
    for (int m = 0; m < rows->n_row * n_head; m++) {
        float *part = part_at(job, rows, split, m / n_head, head + m % n_head);
        memcpy(part, worker->sum + (int64_t)m * job->stride, (size_t)job->stride * sizeof(float));
        part[job->stride] = worker->largest[m];
        part[job->stride + 1] = worker->total[m];
    }
}

static void merge_head(const struct attention_job *job, const struct rows *rows, int row,
                       int head) {
    const struct glint_op_attention *op = job->op;
    int head_dim = op->plane->head_dim;
    struct softmax run = softmax_of_part(part_at(job, rows, 0, row, head), job->stride);
    for (int32_t s = 1; s < rows->n_split; s++)
        merge(run, softmax_of_part(part_at(job, rows, s, row, head), job->stride), head_dim);
    write_out(op->out + ((int64_t)(rows->i_row + row) * op->n_head + head) * head_dim, run,
              head_dim);
}

static void attention_parts(void *context, int i_worker, int n_workers) {
    struct attention_job *job = context;
    struct worker *worker = &job->cpu->attention->worker[i_worker];
    (void)n_workers;
    for (;;) {
        int unit = atomic_fetch_add_explicit(&job->next_unit, 1, memory_order_relaxed);
        if (unit >= job->n_unit)
            return;
        part_unit(job, unit, worker);
    }
}

static void merge_parts(void *context, int i_worker, int n_workers) {
    struct attention_job *job = context;
    (void)i_worker;
    (void)n_workers;
    for (;;) {
        int i = atomic_fetch_add_explicit(&job->next_merge, 1, memory_order_relaxed);
        int i_row = job->row_begin + i / job->op->n_head;
        if (i_row >= job->row_end)
            return;
        const struct rows *rows = job->cpu->attention->rows;
        while (i_row >= rows->i_row + rows->n_row)
            rows++;
        merge_head(job, rows, i_row - rows->i_row, i % job->op->n_head);
    }
}

// ---- the op ---------------------------------------------------------------------------------

// Takes rows of one sequence from i_row on, at most `most`, and GLINT_ATTENTION_ROWS of rows that
// see different keys.
static struct rows take_rows(const struct glint_op_attention *op, int i_row, int most) {
    struct rows rows = {.i_row = i_row, .n_row = 1, .alike = true};
    const struct glint_kv_ref *ref = op->ref + i_row;
    struct glint_attention_range first = visible(op, i_row);
    while (rows.n_row < most && i_row + rows.n_row < op->n &&
           ref[rows.n_row].table.page == ref->table.page &&
           ref[rows.n_row].position > ref[rows.n_row - 1].position) {
        struct glint_attention_range see = visible(op, i_row + rows.n_row);
        bool alike = see.begin == first.begin && see.end == first.end;
        if (rows.n_row > 1 && alike != rows.alike)
            break;
        if (!alike && rows.n_row == GLINT_ATTENTION_ROWS)
            break;
        rows.alike = alike;
        rows.n_row++;
    }
    rows.first = visible(op, i_row).begin / GLINT_KV_SPLIT;
    int32_t last = ref[rows.n_row - 1].position + ref[rows.n_row - 1].ahead;
    rows.n_split = last / GLINT_KV_SPLIT - rows.first + 1;
    return rows;
}

static void divide_heads(struct attention_job *job, int chunk) {
    job->chunk = chunk;
    job->n_chunk = (job->group + chunk - 1) / chunk * job->op->plane->n_head_kv;
}

static void run_whole(struct attention_job *job, int64_t work) {
    job->n_unit = job->n_rows * job->n_chunk;
    atomic_init(&job->next_unit, 0);
    glint_cpu_run(job->cpu, work, attention_whole, job);
}

// Runs the rows of attention->rows in passes of as many as `part` has room for.
static void run_parts(struct attention_job *job, int most) {
    struct glint_attention *attention = job->cpu->attention;
    int i_row = 0;
    while (i_row < job->op->n) {
        int64_t i_part = 0;
        job->n_rows = job->n_unit = 0;
        job->row_begin = i_row;
        while (i_row < job->op->n) {
            struct rows rows = take_rows(job->op, i_row, most);
            int64_t n_part = (int64_t)rows.n_split * rows.n_row * job->op->n_head;
            if (i_part + n_part > attention->n_part)
                break; // never before the first: one row at full context fits
            rows.i_unit = job->n_unit;
            rows.i_part = i_part;
            attention->rows[job->n_rows++] = rows;
            job->n_unit += rows.n_split * job->n_chunk;
            i_part += n_part;
            i_row += rows.n_row;
        }
        job->row_end = i_row;
        atomic_init(&job->next_unit, 0);
        atomic_init(&job->next_merge, 0);
        glint_pool_run(job->cpu->pool, attention_parts, job);
        int64_t cycles = i_part * job->stride / 4;
        glint_cpu_run(job->cpu, cycles, merge_parts, job);
    }
}

void glint_cpu_attention(struct glint_backend *backend, const struct glint_op_attention *op) {
    struct attention_job job = {.cpu = glint_cpu_of(backend), .op = op};
    struct glint_cpu *cpu = job.cpu;
    GLINT_ASSERT(op->n <= cpu->limits.max_rows && op->n_head <= cpu->limits.max_head);
    GLINT_ASSERT(op->plane->head_dim <= cpu->limits.head_dim);
    job.stride = pad(op->plane->head_dim);
    job.group = op->n_head / op->plane->n_head_kv;
    divide_heads(&job, job.group < GLINT_ATTENTION_VECTORS ? job.group : GLINT_ATTENTION_VECTORS);
    int most = GLINT_ATTENTION_VECTORS / job.chunk;
    int64_t work = 0; // about cycles
    int n_split = 0, most_split = 1;
    for (int i = 0; i < op->n; i += cpu->attention->rows[job.n_rows++].n_row) {
        struct rows rows = take_rows(op, i, most);
        struct glint_attention_range see = visible(op, i + rows.n_row - 1);
        work += (int64_t)rows.n_row * (see.end - see.begin) * op->n_head * op->plane->head_dim / 8;
        n_split += rows.n_split;
        most_split = rows.n_split > most_split ? rows.n_split : most_split;
        cpu->attention->rows[job.n_rows] = rows;
    }
    // Blocks of fewer heads convert a tile more often: only when workers would stand idle.
    while (job.chunk > MIN_HEADS && n_split * job.n_chunk < cpu->n_workers)
        divide_heads(&job, (job.chunk + 1) / 2);
    // Whole when blocks keep everyone busy to the end, or when there is nothing to merge.
    if (cpu->n_workers == 1 || work < WORTH_SHARING || most_split == 1 ||
        job.n_rows * job.n_chunk >= BLOCKS_A_WORKER * cpu->n_workers)
        run_whole(&job, work);
    else
        run_parts(&job, most < PART_ROWS ? most : PART_ROWS);
}
