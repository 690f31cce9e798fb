// SPDX-License-Identifier: Apache-2.0
// peak.c — measures streaming reads and, through peak_vnni.c, the rates of int8 dot products and
// float32 multiply-adds.
#include "cpu/peak.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/pool.h"
#include "cpu/features.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

enum { BEST_OF = 7, WORDS = 64, AHEAD_BYTES = 8192, READ_BYTES = 512 << 20 };

// A worker's own, on cache lines of its own.
struct slot {
    volatile uint64_t sink; // keeps the work from being removed; first, as peak_vnni.c wants
    double ms;              // of processor time
    char pad[48];
};
_Static_assert(sizeof(struct slot) == 64, "a cache line");

struct job {
    const uint8_t *data; // [READ_BYTES + AHEAD_BYTES]
    struct slot *slot;   // [n_workers]
    glint_pool_fn products;
};

static void read_share(void *context, int i_worker, int n_workers) {
    struct job *job = context;
    struct glint_range range = glint_pool_range(READ_BYTES, 4096, i_worker, n_workers);
    uint64_t sum[WORDS] = {0};
    for (int64_t i = range.begin; i < range.end; i += (int64_t)sizeof sum) {
        for (size_t line = 0; line < sizeof sum; line += 64)
            __builtin_prefetch(job->data + i + AHEAD_BYTES + line);
        uint64_t word[WORDS];
        memcpy(word, job->data + i, sizeof word);
        for (int k = 0; k < WORDS; k++)
            sum[k] += word[k];
    }
    for (int k = 1; k < WORDS; k++)
        sum[0] += sum[k];
    job->slot[i_worker].sink = sum[0];
}

static double processor_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void products_share(void *context, int i_worker, int n_workers) {
    struct job *job = context;
    double start = processor_ms();
    job->products((void *)&job->slot[i_worker].sink, i_worker, n_workers);
    job->slot[i_worker].ms = processor_ms() - start;
}

// Opens the team and its slots.
static enum glint_status open_team(struct glint_pool **pool, struct job *job, int n_threads,
                                   struct glint_error *err) {
    GLINT_TRY(glint_pool_open(pool, n_threads > 0 ? n_threads : glint_cpu_count(), err));
    job->slot = glint_alloc((size_t)glint_pool_n_workers(*pool), sizeof *job->slot);
    if (job->slot)
        return GLINT_OK;
    glint_pool_close(pool);
    return glint_fail(err, GLINT_E_NOMEM, "no memory to measure with");
}

enum glint_status glint_cpu_measure_read(struct glint_cpu_peak *peak, int n_threads,
                                         struct glint_error *err) {
    struct glint_pool *pool;
    struct job job = {0};
    uint8_t *data = glint_alloc(READ_BYTES + AHEAD_BYTES, 1);
    if (!data)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for a block of %d bytes", READ_BYTES);
    enum glint_status status = open_team(&pool, &job, n_threads, err);
    if (status == GLINT_OK) {
        memset(data, 3, READ_BYTES);
        job.data = data;
        peak->read_gbytes = 0;
        for (int k = 0; k < BEST_OF; k++) {
            double start = glint_clock_ms();
            glint_pool_run(pool, read_share, &job);
            double rate = READ_BYTES / (glint_clock_ms() - start) / 1e6;
            peak->read_gbytes = rate > peak->read_gbytes ? rate : peak->read_gbytes;
        }
        glint_pool_close(&pool);
    }
    glint_free(job.slot);
    glint_free(data);
    return status;
}

#if defined(GLINT_CPU_X86)
// The slowest worker's own processor time, at best: what others run meanwhile does not count.
static double best_ms(struct glint_pool *pool, struct job *job) {
    double best = 0;
    for (int k = 0; k < BEST_OF; k++) {
        double slowest = 0;
        glint_pool_run(pool, products_share, job);
        for (int i = 0; i < glint_pool_n_workers(pool); i++)
            slowest = job->slot[i].ms > slowest ? job->slot[i].ms : slowest;
        best = k == 0 || slowest < best ? slowest : best;
    }
    return best;
}
#endif

enum glint_status glint_cpu_measure_products(struct glint_cpu_peak *peak, int n_threads,
                                             struct glint_error *err) {
    struct glint_pool *pool;
    struct job job = {0};
    peak->int8_gmacs = peak->float_gmacs = 0;
    GLINT_TRY(open_team(&pool, &job, n_threads, err));
#if defined(GLINT_CPU_X86)
    if (glint_cpu_tier_best() >= GLINT_CPU_TIER_VNNI) {
        int n = glint_pool_n_workers(pool);
        job.products = glint_cpu_peak_dot;
        peak->int8_gmacs = glint_cpu_peak_dot_products() * n / best_ms(pool, &job) / 1e6;
        job.products = glint_cpu_peak_fma;
        peak->float_gmacs = glint_cpu_peak_fma_products() * n / best_ms(pool, &job) / 1e6;
    }
#else
    (void)products_share;
#endif
    glint_free(job.slot);
    glint_pool_close(&pool);
    return GLINT_OK;
}
