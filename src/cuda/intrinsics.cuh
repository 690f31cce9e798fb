// SPDX-License-Identifier: Apache-2.0
// intrinsics.cuh — the instructions that CUDA C++ has no words for, and reductions made of them.
// Tests without a device bring their own versions of the former (tests/cuda/emulator).
#ifndef GLINT_CUDA_INTRINSICS_CUH
#define GLINT_CUDA_INTRINSICS_CUH

#include <cuda_runtime.h>

#ifdef __CUDACC__
#include <cuda_fp16.h>

#define GLINT_CUDA_SHARED(name)           extern __shared__ __align__(128) unsigned char name[]
#define GLINT_CUDA_KERNEL(kernel, params) (reinterpret_cast<const void *>(kernel))

static __device__ __forceinline__ uint32_t glint_shuffle_xor(uint32_t value, int mask) {
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

// c[16][8] += a[16][16] b[16][8]: halves in, float32 sums. Lane l holds of a the rows l / 4 and
// l / 4 + 8, of b and c the columns as the PTX manual draws them for mma.m16n8k16.
static __device__ __forceinline__ void glint_mma(float c[4], const uint32_t a[4],
                                                 const uint32_t b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static __device__ __forceinline__ float glint_half_float(uint16_t half) {
    return __half2float(__ushort_as_half(half));
}

// To nearest even; past 65504 infinite.
static __device__ __forceinline__ uint16_t glint_float_half(float value) {
    return __half_as_ushort(__float2half_rn(value));
}

static __device__ __forceinline__ uint32_t glint_half2_sub(uint32_t a, uint32_t b) {
    uint32_t out;
    asm("sub.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
}

static __device__ __forceinline__ uint32_t glint_byte_perm(uint32_t a, uint32_t b,
                                                           uint32_t selector) {
    return __byte_perm(a, b, selector);
}

// 16 bytes from device to shared memory, behind the program's back.
static __device__ __forceinline__ void glint_copy_async(void *shared, const void *global) {
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(global) : "memory");
}

static __device__ __forceinline__ void glint_copy_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until all but the last N groups of this thread have arrived.
template <int N> static __device__ __forceinline__ void glint_copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
#endif

static __device__ __forceinline__ float glint_shuffle_xor_float(float value, int mask) {
    return __uint_as_float(glint_shuffle_xor(__float_as_uint(value), mask));
}

// Sum over the lanes of a warp, in a fixed tree; every lane has it.
static __device__ __forceinline__ float glint_warp_sum(float value) {
    for (int mask = 16; mask > 0; mask /= 2)
        value += glint_shuffle_xor_float(value, mask);
    return value;
}

static __device__ __forceinline__ float glint_warp_max(float value) {
    for (int mask = 16; mask > 0; mask /= 2)
        value = fmaxf(value, glint_shuffle_xor_float(value, mask));
    return value;
}

// Sum over the threads of a block of at most 32 warps; warps in ascending order. `scratch` holds
// 32 floats and is free again after the next barrier.
static __device__ __forceinline__ float glint_block_sum(float value, float *scratch) {
    value = glint_warp_sum(value);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (unsigned w = 0; w < blockDim.x / 32; w++)
        sum += scratch[w];
    return sum;
}

#endif
