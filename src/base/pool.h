// SPDX-License-Identifier: Apache-2.0
// pool.h — a fixed team of worker threads.
// run() divides a function into a share for each member and returns when all are done. What a
// share computes is the caller's split (glint_pool_range, or a counter of its own when results do
// not depend on who computes what). Workers spin briefly, then sleep; shares of workers that do not
// come in time are executed by the caller.
#ifndef GLINT_BASE_POOL_H
#define GLINT_BASE_POOL_H

#include "base/status.h"

struct glint_pool;

// Share i_worker of [0, n_workers), called once a run; memory kept for a share is one thread's at a
// time. A share must not wait for another: one thread may execute both.
typedef void (*glint_pool_fn)(void *context, int i_worker, int n_workers);

// n_workers >= 1; one means "on the caller's thread".
enum glint_status glint_pool_open(struct glint_pool **pool, int n_workers, struct glint_error *err);
void glint_pool_close(struct glint_pool **pool);
int glint_pool_n_workers(const struct glint_pool *pool);
// Not reentrant: fn must not call run on the same pool.
void glint_pool_run(struct glint_pool *pool, glint_pool_fn fn, void *context);

struct glint_range {
    int64_t begin, end;
};
// Share of n items, in units of `unit` items (the last unit may be short), for one worker.
struct glint_range glint_pool_range(int64_t n, int64_t unit, int i_worker, int n_workers);
// CPUs this process may use (affinity and cgroup quota), at least 1.
int glint_cpu_count(void);

#endif
