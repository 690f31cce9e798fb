// SPDX-License-Identifier: Apache-2.0
// bench_peak.c — measures streaming reads and, through bench_peak_vnni.c, the rates of int8 dot
// products and float32 multiply-adds.
#include "bench_peak.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/pool.h"
#include "cpu/cpu.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

enum { BEST_OF = 7, MAX_WORKER = 64 };
static const size_t read_bytes = (size_t)512 << 20;

struct job {
    volatile uint64_t sink; // keeps the work from being removed; first, as bench_peak_dot wants
    const uint8_t *data;
};

static void read_all(void *context, int i_worker, int n_workers) {
    struct job *job = context;
    struct glint_range range = glint_pool_range((int64_t)read_bytes, 4096, i_worker, n_workers);
    uint64_t sum = 0;
    for (int64_t i = range.begin; i < range.end; i += 512) {
        __builtin_prefetch(job->data + i + 8192);
        uint64_t word[64];
        memcpy(word, job->data + i, sizeof word);
        for (int k = 0; k < 64; k++)
            sum += word[k];
    }
    job->sink = sum;
}

// The slowest worker's own processor time, at best: what others run meanwhile does not count.
struct timed {
    glint_pool_fn fn;
    struct job *job;
    double ms[MAX_WORKER];
};

static double processor_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void run_timed(void *context, int i_worker, int n_workers) {
    struct timed *timed = context;
    double start = processor_ms();
    timed->fn(timed->job, i_worker, n_workers);
    timed->ms[i_worker % MAX_WORKER] = processor_ms() - start;
}

static double best_processor_ms(struct glint_pool *pool, glint_pool_fn fn, struct job *job) {
    struct timed timed = {.fn = fn, .job = job};
    double best = 1e30;
    for (int k = 0; k < BEST_OF; k++) {
        double slowest = 0;
        glint_pool_run(pool, run_timed, &timed);
        for (int i = 0; i < MAX_WORKER; i++)
            slowest = timed.ms[i] > slowest ? timed.ms[i] : slowest;
        best = slowest < best ? slowest : best;
    }
    return best;
}

static double best_ms(struct glint_pool *pool, glint_pool_fn fn, struct job *job) {
    double best = 1e30;
    for (int k = 0; k < BEST_OF; k++) {
        double start = glint_clock_ms();
        glint_pool_run(pool, fn, job);
        double ms = glint_clock_ms() - start;
        best = ms < best ? ms : best;
    }
    return best;
}

bool bench_peak_measure(struct bench_peak *peak, int n_threads) {
    struct glint_pool *pool;
    uint8_t *data = glint_alloc(read_bytes + 8192, 1);
    if (data == NULL || glint_pool_open(&pool, n_threads, NULL) != GLINT_OK) {
        glint_free(data);
        return false;
    }
    memset(data, 1, read_bytes);
    struct job job = {0, data};
    peak->read_gbytes = (double)read_bytes / best_ms(pool, read_all, &job) / 1e6;
    peak->int8_gmacs = peak->float_gmacs = 1;
    peak->n_threads = n_threads;
#if defined(GLINT_BENCH_X86)
    if (glint_cpu_tier_at(3) != NULL) {
        peak->int8_gmacs = bench_peak_dot_products() * n_threads /
                           best_processor_ms(pool, bench_peak_dot, &job) / 1e6;
        peak->float_gmacs = bench_peak_fma_products() * n_threads /
                            best_processor_ms(pool, bench_peak_fma, &job) / 1e6;
    }
#endif
    glint_pool_close(&pool);
    glint_free(data);
    return true;
}
