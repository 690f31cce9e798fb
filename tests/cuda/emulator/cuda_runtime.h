// SPDX-License-Identifier: Apache-2.0
// cuda_runtime.h — the CUDA language as far as the kernels of src/cuda use it, for a C++ compiler.
// A block's threads are fibers of one host thread that take turns at barriers (emulator.cpp);
// blocks run one after the other, so a block's shared memory can be static.
#ifndef GLINT_TESTS_CUDA_RUNTIME_H
#define GLINT_TESTS_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#include <math.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__              static
#define __align__(n)            __attribute__((aligned(n)))
#define GLINT_CUDA_SHARED(name) unsigned char *name = glint_emulator_shared()
// A kernel's address for cudaLaunchKernel: here of a function that unwraps its one parameter.
#define GLINT_CUDA_KERNEL(kernel, params)                                                          \
    (reinterpret_cast<const void *>(                                                               \
        static_cast<void (*)(void *)>([](void *p) { kernel(*static_cast<params *>(p)); })))

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};
struct uint2 {
    uint32_t x, y;
};
struct uint4 {
    uint32_t x, y, z, w;
};

unsigned char *glint_emulator_shared();
void __syncthreads();
uint32_t glint_emulator_shuffle(uint32_t value, int from_lane); // every lane of the warp calls it

static inline float __uint_as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t __float_as_uint(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// ---- what cuda/intrinsics.h does with PTX ---------------------------------------------------

uint32_t glint_shuffle_xor(uint32_t value, int mask);
void glint_mma(float c[4], const uint32_t a[4], const uint32_t b[2]);
float glint_half_float(uint16_t half);
uint16_t glint_float_half(float value);
uint32_t glint_half2_sub(uint32_t a, uint32_t b);
uint32_t glint_byte_perm(uint32_t a, uint32_t b, uint32_t selector);
static inline void glint_copy_async(void *shared, const void *global) {
    memcpy(shared, global, 16);
}
static inline void glint_copy_commit() {
}
template <int N> static inline void glint_copy_wait() {
}

#endif // __cplusplus

#endif
