// SPDX-License-Identifier: Apache-2.0
// pool.h — a fixed team of worker threads.
// run() hands the same function to every member and returns when all are done. Which member
// computes what is the caller's static split (glint_pool_range), so results do not depend on
// timing. Workers spin briefly, then sleep.
#ifndef GLINT_BASE_POOL_H
#define GLINT_BASE_POOL_H

#include "base/status.h"

struct glint_pool;

// i_worker in [0, n_workers); the caller's thread is worker 0.
typedef void (*glint_pool_fn)(void *context, int i_worker, int n_workers);

// n_workers >= 1; one means "on the caller's thread".
enum glint_status glint_pool_open(struct glint_pool **pool, int n_workers, struct glint_error *err);
void glint_pool_close(struct glint_pool **pool);
int glint_pool_n_workers(const struct glint_pool *pool);
// Not reentrant: fn must not call run on the same pool.
void glint_pool_run(struct glint_pool *pool, glint_pool_fn fn, void *context);
// Waits until every worker of the current run has arrived here; for fn's of several phases.
void glint_pool_barrier(struct glint_pool *pool);

struct glint_range {
    int64_t begin, end;
};
// Share of n items, in units of `unit` items (the last unit may be short), for one worker.
struct glint_range glint_pool_range(int64_t n, int64_t unit, int i_worker, int n_workers);
// CPUs this process may use (affinity and cgroup quota), at least 1.
int glint_cpu_count(void);

#endif
