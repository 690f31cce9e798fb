// SPDX-License-Identifier: Apache-2.0
// peak.c — what the machine's memory can deliver, to judge speeds by.
#include "engine/engine.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/pool.h"

#include <string.h>

enum { PEAK_BYTES = 384 << 20, PEAK_ROUNDS = 5, LANES = 16 };

struct reader {
    const uint64_t *data; // [PEAK_BYTES / 8]
    uint64_t sum;         // keeps the reads from being dropped
};

static void read_share(void *context, int i_worker, int n_workers) {
    struct reader *reader = context;
    struct glint_range range =
        glint_pool_range(PEAK_BYTES / sizeof(uint64_t), LANES * 64, i_worker, n_workers);
    uint64_t lane[LANES] = {0};
    for (int64_t i = range.begin; i < range.end; i += LANES)
        for (int j = 0; j < LANES; j++)
            lane[j] += reader->data[i + j];
    uint64_t sum = 0;
    for (int j = 0; j < LANES; j++)
        sum += lane[j];
    if (sum == 1) // never: the block is filled with another pattern
        reader->sum = sum;
}

enum glint_status glint_measure_read_bandwidth(int n_threads, double *gb_s,
                                               struct glint_error *err) {
    struct glint_pool *pool = NULL;
    struct reader reader = {0};
    uint64_t *block = glint_alloc(PEAK_BYTES, 1);
    if (!block)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for a block of %d bytes", PEAK_BYTES);
    enum glint_status status =
        glint_pool_open(&pool, n_threads > 0 ? n_threads : glint_cpu_count(), err);
    if (status == GLINT_OK) {
        memset(block, 3, PEAK_BYTES);
        reader.data = block;
        double best = 0;
        for (int i = 0; i < PEAK_ROUNDS; i++) {
            double start = glint_clock_ms();
            glint_pool_run(pool, read_share, &reader);
            double rate = (double)PEAK_BYTES / ((glint_clock_ms() - start) * 1e6);
            best = rate > best ? rate : best;
        }
        *gb_s = best;
    }
    glint_pool_close(&pool);
    glint_free(block);
    return status;
}
