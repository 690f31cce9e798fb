// SPDX-License-Identifier: Apache-2.0
// cpu.h — opens the CPU backend: feature detection, the tier's op table, the worker pool.
#ifndef GLINT_CPU_CPU_H
#define GLINT_CPU_CPU_H

#include "op/backend.h"

struct glint_cpu_params {
    int n_threads; // 0: all CPUs this process may use
    // NULL: the best the CPU has; "scalar", "avx2", "avx512", "vnni" or "scalar", "neon", "dotprod"
    // force one.
    const char *tier;
    struct glint_backend_limits limits;
};

// Fails with GLINT_E_UNSUPPORTED when the tier is unknown or the CPU lacks it (names both).
enum glint_status glint_cpu_open(struct glint_backend **backend,
                                 const struct glint_cpu_params *params, struct glint_error *err);

// Tier names this CPU can run, best last; NULL past the end.
const char *glint_cpu_tier_at(size_t i);

#endif
