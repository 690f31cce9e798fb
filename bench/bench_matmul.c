// SPDX-License-Identifier: Apache-2.0
// bench_matmul — speed of the matrix products against the machine's ceilings: weight bytes per
// second for few rows of x against streaming reads, int8 products per second for many rows
// against the peak of the dot product instruction.
//   bench_matmul                                        the ceilings and a table
//   bench_matmul TYPE ROWS COLS N THREADS TIER [EXACT]  one case; one below 1 MiB stays in the
//                                                       cache, to see the kernel alone
#include "base/alloc.h"
#include "base/clock.h"
#include "base/pool.h"
#include "cpu/cpu.h"
#include "cpu/peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEAT = 7, MAX_MATRICES = 16, CACHED_LOOPS = 1000 };
static const size_t cached_bytes = (size_t)1 << 20;  // a matrix below this is left in the cache
static const size_t total_bytes = (size_t)300 << 20; // so that no cache holds the weights

struct bench_case {
    const struct glint_dtype_info *info;
    int64_t n_row, n_col;
    int n, n_threads;
    const char *tier;
    bool exact;
};

struct setup {
    struct glint_backend *backend;
    struct glint_matrix w[MAX_MATRICES];
    int n_matrix;
    bool cached;
    float *x, *out;
};

static void *take(size_t count, size_t size) {
    void *block = glint_alloc(count, size);
    if (block == NULL) {
        fprintf(stderr, "bench_matmul: out of memory\n");
        exit(1);
    }
    return block;
}

// One row of real blocks, copied to all: speed does not depend on the codes.
static void fill(struct glint_matrix *w, const struct glint_dtype_info *info) {
    float *values = take((size_t)w->n_col, sizeof *values);
    for (int64_t c = 0; c < w->n_col; c++)
        values[c] = (float)(c * 7919 % 1009 - 504) / 504.0f;
    char *bytes = take((size_t)w->n_row, w->row_bytes);
    info->encode(values, NULL, bytes, (size_t)w->n_col);
    for (int64_t r = 1; r < w->n_row; r++)
        memcpy(bytes + (size_t)r * w->row_bytes, bytes, w->row_bytes);
    w->data = bytes;
    glint_free(values);
}

static void setup_open(struct setup *setup, const struct bench_case *bench) {
    struct glint_cpu_params params = {.n_threads = bench->n_threads,
                                      .tier = bench->tier,
                                      .limits = {bench->n, (int)bench->n_col, 1, 1, 16}};
    struct glint_error err;
    if (glint_cpu_open(&setup->backend, &params, &err) != GLINT_OK) {
        fprintf(stderr, "bench_matmul: %s\n", err.text);
        exit(1);
    }
    size_t row_bytes = glint_dtype_bytes(bench->info->dtype, (uint64_t)bench->n_col);
    size_t bytes = row_bytes * (size_t)bench->n_row;
    setup->cached = bytes < cached_bytes;
    setup->n_matrix = bench->n > 32 || setup->cached ? 1 : (int)(total_bytes / bytes) + 1;
    if (setup->n_matrix > MAX_MATRICES)
        setup->n_matrix = MAX_MATRICES;
    for (int i = 0; i < setup->n_matrix; i++) {
        setup->w[i] =
            (struct glint_matrix){NULL, bench->info->dtype, bench->n_row, bench->n_col, row_bytes};
        fill(&setup->w[i], bench->info);
    }
    size_t n = (size_t)bench->n;
    setup->x = take(n * (size_t)bench->n_col, sizeof(float));
    setup->out = take(n * (size_t)bench->n_row, sizeof(float));
    for (size_t i = 0; i < n * (size_t)bench->n_col; i++)
        setup->x[i] = (float)(i * 31 % 257) - 128;
}

static void setup_close(struct setup *setup) {
    for (int i = 0; i < setup->n_matrix; i++)
        glint_free((void *)setup->w[i].data);
    glint_free(setup->x);
    glint_free(setup->out);
    setup->backend->close(setup->backend);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_case(const struct bench_case *bench, const struct glint_cpu_peak *peak) {
    struct setup setup;
    setup_open(&setup, bench);
    double ms[REPEAT + 1];
    int loops = setup.cached ? CACHED_LOOPS : 1;
    for (int k = 0; k <= REPEAT; k++) { // the first is thrown away
        double start = glint_clock_ms();
        for (int i = 0; i < setup.n_matrix * loops; i++)
            setup.backend->ops.matmul(setup.backend, &(struct glint_op_matmul){
                                                         .x = setup.x,
                                                         .n = bench->n,
                                                         .n_matrix = 1,
                                                         .w = {&setup.w[i % setup.n_matrix]},
                                                         .out = {setup.out},
                                                         .exact = bench->exact,
                                                     });
        ms[k] = (glint_clock_ms() - start) / setup.n_matrix / loops;
    }
    qsort(ms + 1, REPEAT, sizeof ms[0], compare);
    double median = ms[1 + REPEAT / 2];
    double gbytes = (double)bench->n_row * (double)setup.w[0].row_bytes / median / 1e6;
    double gmacs = (double)bench->n_row * (double)bench->n_col * bench->n / median / 1e6;
    printf("%-5s %6ld x %5ld  n %3d  threads %d  %-6s %8.3f ms (%.3f..%.3f)  %6.2f GB/s %3.0f%%  "
           "%7.1f GMAC/s %3.0f%%\n",
           bench->info->name, (long)bench->n_row, (long)bench->n_col, bench->n, bench->n_threads,
           setup.backend->tier, median, ms[1], ms[REPEAT], gbytes, 100 * gbytes / peak->read_gbytes,
           gmacs, peak->int8_gmacs > 0 ? 100 * gmacs / peak->int8_gmacs : 0);
    fflush(stdout);
    setup_close(&setup);
}

static void run_table(int n_threads, const struct glint_cpu_peak *peak) {
    static const struct {
        enum glint_dtype dtype;
        int64_t n_row, n_col;
    } shape[] = {{GLINT_DTYPE_Q4_K, 19968, 6656}, {GLINT_DTYPE_Q6_K, 6656, 19968},
                 {GLINT_DTYPE_Q8_0, 6656, 6656},  {GLINT_DTYPE_Q5_K, 6656, 6656},
                 {GLINT_DTYPE_Q3_K, 6656, 6656},  {GLINT_DTYPE_BF16, 6656, 6656}};
    static const int rows[] = {1, 4, 16, 512};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            struct bench_case bench = {.info = glint_dtype_info((uint32_t)shape[i].dtype),
                                       .n_row = shape[i].n_row,
                                       .n_col = shape[i].n_col,
                                       .n = rows[k],
                                       .n_threads = n_threads};
            run_case(&bench, peak);
        }
}

int main(int argc, char **argv) {
    int n_threads = argc > 5 ? atoi(argv[5]) : glint_cpu_count();
    struct glint_cpu_peak peak;
    struct glint_error err;
    if (glint_cpu_measure_read(&peak, n_threads, &err) != GLINT_OK ||
        glint_cpu_measure_products(&peak, n_threads, &err) != GLINT_OK) {
        fprintf(stderr, "bench_matmul: %s\n", err.text);
        return 1;
    }
    printf("%d threads: streaming reads %.1f GB/s, int8 peak %.0f GMAC/s\n", n_threads,
           peak.read_gbytes, peak.int8_gmacs);
    if (argc <= 1) {
        run_table(n_threads, &peak);
        return 0;
    }
    if (argc < 7 || glint_dtype_by_name(argv[1]) == NULL) {
        fprintf(stderr, "usage: bench_matmul [TYPE ROWS COLS N THREADS TIER [exact]]\n");
        return 2;
    }
    struct bench_case bench = {.info = glint_dtype_by_name(argv[1]),
                               .n_row = atol(argv[2]),
                               .n_col = atol(argv[3]),
                               .n = atoi(argv[4]),
                               .n_threads = n_threads,
                               .tier = argv[6],
                               .exact = argc > 7};
    run_case(&bench, &peak);
    return 0;
}
