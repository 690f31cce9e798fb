// SPDX-License-Identifier: Apache-2.0
// peak.h — the ceilings that speeds on this machine are judged by.
#ifndef GLINT_CPU_PEAK_H
#define GLINT_CPU_PEAK_H

#include "base/status.h"

struct glint_cpu_peak {
    double read_gbytes; // 10^9 bytes a second, streaming reads
    double int8_gmacs;  // 10^9 int8 products a second in registers, by processor time
    double float_gmacs; // the same of float32; both 0 where there is no VNNI to measure them with
};

// Best of several short runs on n_threads threads (0: all CPUs this process may use).
// GLINT_E_NOMEM without memory for a block that no cache holds.
enum glint_status glint_cpu_measure_read(struct glint_cpu_peak *peak, int n_threads,
                                         struct glint_error *err);
enum glint_status glint_cpu_measure_products(struct glint_cpu_peak *peak, int n_threads,
                                             struct glint_error *err);

// peak_vnni.c: pool functions, each a loop of independent chains in registers; context is a
// volatile uint64_t per worker that they write to. Only on the VNNI tier.
void glint_cpu_peak_dot(void *context, int i_worker, int n_workers);
double glint_cpu_peak_dot_products(void); // of one call
void glint_cpu_peak_fma(void *context, int i_worker, int n_workers);
double glint_cpu_peak_fma_products(void);

#endif
