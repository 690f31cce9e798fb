// SPDX-License-Identifier: Apache-2.0
// bench_pool.c — what handing work to the team costs: an empty run, and one that finds the workers
// asleep. Usage: bench_pool [THREADS]. Medians of 9, in microseconds.
#include "base/clock.h"
#include "base/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_SAMPLE = 9, N_RUN = 20000, N_SLEEPY = 100 };

static void nothing(void *context, int i_worker, int n_workers) {
    (void)context;
    (void)i_worker;
    (void)n_workers;
}

static double run_us(struct glint_pool *pool) {
    double start = glint_clock_ms();
    for (int i = 0; i < N_RUN; i++)
        glint_pool_run(pool, nothing, NULL);
    return (glint_clock_ms() - start) * 1e3 / N_RUN;
}

static double sleepy_us(struct glint_pool *pool) {
    double total = 0;
    for (int i = 0; i < N_SLEEPY; i++) {
        struct timespec span = {.tv_sec = 0, .tv_nsec = 300000};
        nanosleep(&span, NULL);
        double start = glint_clock_ms();
        glint_pool_run(pool, nothing, NULL);
        total += glint_clock_ms() - start;
    }
    return total * 1e3 / N_SLEEPY;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, double (*measure)(struct glint_pool *),
                   struct glint_pool *pool) {
    double us[N_SAMPLE];
    measure(pool);
    for (int i = 0; i < N_SAMPLE; i++)
        us[i] = measure(pool);
    qsort(us, N_SAMPLE, sizeof *us, ascending);
    printf("%-16s %8.2f us   (%.2f to %.2f)\n", name, us[N_SAMPLE / 2], us[0], us[N_SAMPLE - 1]);
}

int main(int argc, char **argv) {
    int n_workers = argc > 1 ? atoi(argv[1]) : glint_cpu_count();
    struct glint_error err = {.status = GLINT_OK};
    struct glint_pool *pool;
    if (glint_pool_open(&pool, n_workers, &err) != GLINT_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%d threads\n", n_workers);
    report("run", run_us, pool);
    report("run from sleep", sleepy_us, pool);
    glint_pool_close(&pool);
    return 0;
}
