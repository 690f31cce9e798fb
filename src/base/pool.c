// SPDX-License-Identifier: Apache-2.0
// pool.c — the team waits on two words: `epoch` (a run has begun) and `done` (its last share is
// finished). Each is a number that moves on; waiting means spinning for a while, because a step
// posts a run every few microseconds, then sleeping, because a server is idle most of the time.
//
// A run has one share a worker. Whoever moves a share's `taken` on to the run's epoch executes it:
// its worker, or the caller, which after its own share goes through those that nobody has begun.
// So a worker that the system lets wait (a busy machine) costs its help, not its delay.
//
// Order. A word is moved on with a sequentially consistent store and read likewise before
// sleeping: either the mover sees the sleeper and wakes it, or the sleeper sees the new value.
// The same store publishes fn and context to the workers and their results to the caller.
#include "base/pool.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { MAX_WORKERS = 4096, SPINS_PER_LOOK = 64 };

// Longer than the gaps between the ops of a step, shorter than anyone would notice on an idle
// machine; waking a sleeper costs 5 to 50 us.
static const double SPIN_MS = 0.05;

struct worker {
    _Alignas(64) atomic_uint taken; // epoch of the last run whose share was begun
    struct glint_pool *pool;
    pthread_t thread;
    int i_worker;
};

// A count and the word that its last arrival moves on share a cache line: one transfer less.
// Otherwise what different threads write is kept apart.
struct glint_pool {
    _Alignas(64) atomic_uint epoch;
    glint_pool_fn fn; // of the current run; written before epoch moves on
    void *context;
    atomic_bool quit; // likewise: the run that ends the workers
    _Alignas(64) atomic_uint done;
    atomic_int n_running;             // shares of the current run that are not finished
    _Alignas(64) atomic_int n_asleep; // threads in or about to enter pthread_cond_wait
    pthread_mutex_t mutex;
    pthread_cond_t moved; // some word has moved on
    int n_workers;
    struct worker *workers; // [n_workers], entry 0 unused: the caller
};

// Tells the CPU that this is a waiting loop, so that it yields to its sibling thread.
static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void move_on(struct glint_pool *pool, atomic_uint *word) {
    atomic_fetch_add(word, 1);
    if (atomic_load(&pool->n_asleep) == 0)
        return;
    // Taking the lock waits for a thread that is between its last look and its sleep.
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->moved);
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_past(struct glint_pool *pool, atomic_uint *word, unsigned old) {
    double until = 0;
    do {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            // Acquire: what was written before the word moved on is visible after this.
            if (atomic_load_explicit(word, memory_order_acquire) != old)
                return;
            relax();
        }
        double now = glint_clock_ms();
        if (until == 0)
            until = now + SPIN_MS;
        if (now >= until)
            break;
    } while (true);
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->n_asleep, 1);
    while (atomic_load(word) == old)
        pthread_cond_wait(&pool->moved, &pool->mutex);
    atomic_fetch_sub(&pool->n_asleep, 1);
    pthread_mutex_unlock(&pool->mutex);
}

// Executes a share of the run `epoch` unless somebody has begun it. A thread that comes late finds
// that it was, also when other runs have followed: fn and context are read only by who holds a
// share of their run, which cannot end meanwhile.
static void try_share(struct glint_pool *pool, struct worker *worker, unsigned epoch) {
    unsigned before = epoch - 1;
    // Acquire and release order fn's writes to memory of this share between runs.
    if (!atomic_compare_exchange_strong_explicit(&worker->taken, &before, epoch,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return;
    pool->fn(pool->context, worker->i_worker, pool->n_workers);
    // Release hands over this share's results; acquire lets the last one pass on all of them.
    if (atomic_fetch_sub_explicit(&pool->n_running, 1, memory_order_acq_rel) == 1)
        move_on(pool, &pool->done);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    struct glint_pool *pool = worker->pool;
    for (unsigned seen = 0;;) {
        wait_past(pool, &pool->epoch, seen);
        seen = atomic_load_explicit(&pool->epoch, memory_order_acquire);
        if (atomic_load_explicit(&pool->quit, memory_order_relaxed)) // published by epoch
            return NULL;
        try_share(pool, worker, seen);
    }
}

// Ends workers 1..n-1 and releases everything.
static void dissolve(struct glint_pool *pool, int n) {
    atomic_store_explicit(&pool->quit, true, memory_order_relaxed);
    move_on(pool, &pool->epoch);
    for (int i = 1; i < n; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->moved);
    pthread_mutex_destroy(&pool->mutex);
    glint_free(pool->workers);
    glint_free(pool);
}

enum glint_status glint_pool_open(struct glint_pool **pool, int n_workers,
                                  struct glint_error *err) {
    GLINT_REQUIRE(pool && n_workers >= 1, err);
    *pool = NULL;
    if (n_workers > MAX_WORKERS)
        return glint_fail(err, GLINT_E_LIMIT, "threads: found %d, expected at most %d", n_workers,
                          MAX_WORKERS);
    struct glint_pool *made = glint_alloc(1, sizeof *made);
    struct worker *workers = glint_alloc((size_t)n_workers, sizeof *workers);
    if (!made || !workers) {
        glint_free(made);
        glint_free(workers);
        return glint_fail(err, GLINT_E_NOMEM, "threads: out of memory for %d workers", n_workers);
    }
    made->n_workers = n_workers;
    made->workers = workers;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->moved, NULL);
    // Workers take no signals: those belong to the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int i = 1;
    for (; i < n_workers; i++) {
        workers[i].pool = made;
        workers[i].i_worker = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (i < n_workers) {
        dissolve(made, i);
        return glint_fail(err, GLINT_E_LIMIT,
                          "threads: the system refused thread %d of %d; ask for fewer", i + 1,
                          n_workers);
    }
    *pool = made;
    return GLINT_OK;
}

void glint_pool_close(struct glint_pool **pool) {
    if (!pool || !*pool)
        return;
    dissolve(*pool, (*pool)->n_workers);
    *pool = NULL;
}

int glint_pool_n_workers(const struct glint_pool *pool) {
    return pool->n_workers;
}

void glint_pool_run(struct glint_pool *pool, glint_pool_fn fn, void *context) {
    if (pool->n_workers == 1) {
        fn(context, 0, 1);
        return;
    }
    unsigned done = atomic_load_explicit(&pool->done, memory_order_relaxed); // moved by a past run
    // Only this thread moves epoch.
    unsigned epoch = atomic_load_explicit(&pool->epoch, memory_order_relaxed) + 1;
    pool->fn = fn;
    pool->context = context;
    // Relaxed: published by epoch.
    atomic_store_explicit(&pool->n_running, pool->n_workers, memory_order_relaxed);
    move_on(pool, &pool->epoch);
    fn(context, 0, pool->n_workers);
    for (int i = 1; i < pool->n_workers; i++)
        // Relaxed: only saves the exchange.
        if (atomic_load_explicit(&pool->workers[i].taken, memory_order_relaxed) == epoch - 1)
            try_share(pool, &pool->workers[i], epoch);
    // Acquire: the results of the others.
    if (atomic_fetch_sub_explicit(&pool->n_running, 1, memory_order_acq_rel) == 1)
        atomic_fetch_add_explicit(&pool->done, 1, memory_order_relaxed); // nobody waits for it
    else
        wait_past(pool, &pool->done, done);
}

struct glint_range glint_pool_range(int64_t n, int64_t unit, int i_worker, int n_workers) {
    int64_t units = n / unit + (n % unit != 0);
    int64_t each = units / n_workers;
    int64_t rest = units % n_workers; // the first `rest` workers take one unit more
    int64_t first = each * i_worker + (i_worker < rest ? i_worker : rest);
    int64_t last = first + each + (i_worker < rest);
    return (struct glint_range){.begin = first * unit < n ? first * unit : n,
                                .end = last * unit < n ? last * unit : n};
}
