// SPDX-License-Identifier: Apache-2.0
// backends.c — the list of backends; the only file that names them.
#include "cpu/cpu.h"
#include "cpu/peak.h"
#include "engine/engine.h"

#include "base/available_memory.h"
#if defined(GLINT_CUDA)
#include "cuda/cuda.h"
#endif

#include <stdlib.h>
#include <string.h>

// What --device says: the number of a CUDA device, or -1 for the CPU.
static enum glint_status choose_device(const struct glint_engine_params *params, int *number,
                                       struct glint_error *err) {
    const char *device = params->device ? params->device : "cpu";
    *number = -1;
    if (strcmp(device, "cpu") == 0)
        return GLINT_OK;
#if defined(GLINT_CUDA)
    if (strcmp(device, "auto") == 0) {
        *number = glint_cuda_count() > 0 ? 0 : -1;
        return GLINT_OK;
    }
    if (strncmp(device, "cuda", 4) == 0 && (device[4] == ':' || device[4] == '\0')) {
        char *end = NULL;
        long n = device[4] ? strtol(device + 5, &end, 10) : 0;
        if (!end || (end != device + 5 && *end == '\0' && n >= 0 && n < 1024)) {
            *number = (int)n;
            return GLINT_OK;
        }
    }
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "--device: found \"%s\", expected cpu, auto, cuda or cuda:N", device);
#else
    if (strcmp(device, "auto") == 0)
        return GLINT_OK;
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "--device: found \"%s\", expected \"cpu\" (this build has no other)", device);
#endif
}

enum glint_status glint_backend_memory(uint64_t *bytes, const struct glint_engine_params *params,
                                       const struct glint_backend_limits *limits,
                                       uint64_t mapped_bytes, struct glint_error *err) {
    int number;
    GLINT_TRY(choose_device(params, &number, err));
#if defined(GLINT_CUDA)
    if (number >= 0)
        return glint_cuda_available(number, limits, bytes, err);
#else
    (void)limits;
#endif
    *bytes = glint_available_memory(mapped_bytes);
    return GLINT_OK;
}

enum glint_status glint_backend_open(struct glint_backend **backend,
                                     const struct glint_engine_params *params,
                                     const struct glint_backend_limits *limits,
                                     struct glint_error *err) {
    int number;
    GLINT_TRY(choose_device(params, &number, err));
#if defined(GLINT_CUDA)
    if (number >= 0)
        return glint_cuda_open(backend, &(struct glint_cuda_params){number, *limits}, err);
#endif
    const struct glint_cpu_params cpu = {
        .n_threads = params->n_threads, .tier = params->cpu_tier, .limits = *limits};
    return glint_cpu_open(backend, &cpu, err);
}

enum glint_status glint_measure_read_bandwidth(int n_threads, double *gb_s,
                                               struct glint_error *err) {
    struct glint_cpu_peak peak = {0};
    GLINT_TRY(glint_cpu_measure_read(&peak, n_threads, err));
    *gb_s = peak.read_gbytes;
    return GLINT_OK;
}

enum glint_status glint_measure_products(int n_threads, double *int8_gmac_s, double *float_gmac_s,
                                         struct glint_error *err) {
    struct glint_cpu_peak peak = {0};
    GLINT_TRY(glint_cpu_measure_products(&peak, n_threads, err));
    *int8_gmac_s = peak.int8_gmacs;
    *float_gmac_s = peak.float_gmacs;
    return GLINT_OK;
}
