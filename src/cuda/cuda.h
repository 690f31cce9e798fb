// SPDX-License-Identifier: Apache-2.0
// cuda.h — opens the CUDA backend: ops on one NVIDIA GPU. Weights, cache and activations live in
// device memory; the host only says what to compute. docs/cuda.md has the design.
#ifndef GLINT_CUDA_CUDA_H
#define GLINT_CUDA_CUDA_H

#include "op/backend.h"

struct glint_cuda_params {
    int device; // number, as nvidia-smi counts
    struct glint_backend_limits limits;
};

// GLINT_E_DEVICE when there is no such device, no driver, or the device is too old (8.0 is the
// oldest); GLINT_E_NOMEM when its memory does not hold the scratch.
enum glint_status glint_cuda_open(struct glint_backend **backend,
                                  const struct glint_cuda_params *params, struct glint_error *err);

// Devices that a driver shows; 0 without a driver.
int glint_cuda_count(void);

// Bytes of the device that are free now, less what a backend of these limits takes for itself.
enum glint_status glint_cuda_available(int device, const struct glint_backend_limits *limits,
                                       uint64_t *bytes, struct glint_error *err);

#endif
