// SPDX-License-Identifier: Apache-2.0
// bench_peak.h — the ceilings of this machine for a number of threads.
#ifndef GLINT_BENCH_PEAK_H
#define GLINT_BENCH_PEAK_H

#include <stdbool.h>

struct bench_peak {
    double read_gbytes; // 10^9 bytes per second, streaming reads
    double int8_gmacs;  // 10^9 int8 products per second in registers, by processor time;
                        // 1 where it is not measured
    double float_gmacs; // the same of float32
    int n_threads;
};

// Best of several short runs. False when out of memory.
bool bench_peak_measure(struct bench_peak *peak, int n_threads);

// A pool function: int8 dot products in registers; context is a volatile uint64_t it writes to.
// Needs the VNNI tier.
void bench_peak_dot(void *context, int i_worker, int n_workers);
double bench_peak_dot_products(void); // of one call
// The same for fused multiply-adds of float32.
void bench_peak_fma(void *context, int i_worker, int n_workers);
double bench_peak_fma_products(void);

#endif
