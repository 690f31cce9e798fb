// SPDX-License-Identifier: Apache-2.0
// attention_kernels.cu — softmax over the cache, split along the keys. A block takes one row, up to
// eight query heads of one KV head, and one split of 256 keys, which is a page; a second kernel
// joins the splits in ascending order.
//
// For one query vector and split:  score = scale * (q . k), one chain of fused multiply-adds over
// the head's dimension;  largest of the scores;  weight = exp(score - largest), added in a fixed
// tree;  sum of weight * v, one chain, keys ascending. Nothing depends on other rows, and keys
// that the row does not see are not read.
#include "cuda/kernels.h"

#include "cuda/intrinsics.cuh"

// Four values from channel d on, of a row of K or V.
static __device__ __forceinline__ float4 load_four(int dtype, const char *row, int d) {
    if (dtype == GLINT_DTYPE_F16) {
        uint2 bits = *(const uint2 *)(const void *)(row + 2 * d);
        return {glint_half_float((uint16_t)bits.x), glint_half_float((uint16_t)(bits.x >> 16)),
                glint_half_float((uint16_t)bits.y), glint_half_float((uint16_t)(bits.y >> 16))};
    }
    if (dtype == GLINT_DTYPE_F32)
        return *(const float4 *)(const void *)(row + 4 * d);
    const char *block = row + d / 32 * 34;
    float scale = glint_half_float(*(const uint16_t *)(const void *)block);
    const int8_t *q = (const int8_t *)block + 2 + d % 32;
    return {scale * q[0], scale * q[1], scale * q[2], scale * q[3]};
}

static __device__ __forceinline__ float load_one(int dtype, const char *row, int d) {
    if (dtype == GLINT_DTYPE_F16)
        return glint_half_float(((const uint16_t *)(const void *)row)[d]);
    if (dtype == GLINT_DTYPE_F32)
        return ((const float *)(const void *)row)[d];
    const char *block = row + d / 32 * 34;
    return glint_half_float(*(const uint16_t *)(const void *)block) *
           (float)(int8_t)block[2 + d % 32];
}

struct range {
    int begin, end;
};

static __device__ __forceinline__ struct range visible(const struct glint_cuda_ref *ref,
                                                       int window) {
    struct range see = {0, ref->position + ref->ahead + 1};
    if (window > 0 && ref->position >= window)
        see.begin = ref->position - window + 1;
    return see;
}

static __device__ const char *page_run(const struct glint_cuda_attention *op,
                                       const struct glint_cuda_ref *ref, int split, int tensor,
                                       int head) {
    int32_t page = op->tables[ref->table + split % ref->n_table];
    return op->plane.pages + (uint64_t)page * op->plane.page_bytes + op->plane.offset[tensor] +
           (uint64_t)head * GLINT_KV_PAGE_ROWS * op->plane.row_bytes[tensor];
}

// Dot products of one key with the block's query vectors. Channels past the last multiple of four
// come one by one.
template <int HEADS>
static __device__ void score_key(float score[HEADS], int dtype, const char *key,
                                 const float (*q)[GLINT_CUDA_MAX_DIM], int dim) {
    int d = 0;
    if (dim % 4 == 0)
#pragma unroll 4
        for (; d < dim; d += 4) {
            float4 k = load_four(dtype, key, d);
#pragma unroll
            for (int h = 0; h < HEADS; h++) {
                float4 v = *(const float4 *)(const void *)&q[h][d];
                score[h] = fmaf(v.x, k.x, score[h]);
                score[h] = fmaf(v.y, k.y, score[h]);
                score[h] = fmaf(v.z, k.z, score[h]);
                score[h] = fmaf(v.w, k.w, score[h]);
            }
        }
    for (; d < dim; d++) {
        float k = load_one(dtype, key, d);
        for (int h = 0; h < HEADS; h++)
            score[h] = fmaf(q[h][d], k, score[h]);
    }
}

enum { N_WARP = GLINT_CUDA_THREADS / 32 };

// grid: split, KV head and eighth of its query heads, row
template <int HEADS>
static __global__ void __launch_bounds__(GLINT_CUDA_THREADS)
    attention(struct glint_cuda_attention op) {
    const int HALF_HEADS = HEADS / 2;
    __shared__ __align__(16) float q[HEADS][GLINT_CUDA_MAX_DIM];
    __shared__ float weight[HEADS][GLINT_CUDA_SPLIT];
    __shared__ float per_warp[HEADS][N_WARP];
    const struct glint_cuda_ref *ref = &op.ref[blockIdx.z];
    struct range see = visible(ref, op.window);
    int first_split = see.begin / GLINT_CUDA_SPLIT, split = first_split + (int)blockIdx.x;
    int begin = split * GLINT_CUDA_SPLIT, end = begin + GLINT_CUDA_SPLIT;
    if (begin >= see.end)
        return;
    int origin = begin;
    begin = begin > see.begin ? begin : see.begin;
    end = end < see.end ? end : see.end;
    int dim = op.plane.head_dim, group = op.n_head / op.plane.n_head_kv;
    int n_chunk = (group + HEADS - 1) / HEADS;
    int head_kv = (int)blockIdx.y / n_chunk, in_group = (int)blockIdx.y % n_chunk * HEADS;
    int head = head_kv * group + in_group;
    int n_head = group - in_group < HEADS ? group - in_group : HEADS;
    int tid = (int)threadIdx.x, lane = tid % 32, warp = tid / 32;
    const float *from = op.q + ((int64_t)blockIdx.z * op.n_head + head) * dim;
    for (int i = tid; i < HEADS * dim; i += GLINT_CUDA_THREADS)
        q[i / dim][i % dim] = i < n_head * dim ? from[i] : 0;
    __syncthreads();
    float score[HEADS] = {};
    int t = origin + tid;
    bool seen = t >= begin && t < end;
    if (seen)
        score_key<HEADS>(
            score, op.plane.dtype_k,
            page_run(&op, ref, split, 0, head_kv) + (uint64_t)tid * op.plane.row_bytes[0], q, dim);
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
        score[h] = seen ? score[h] * op.scale : -INFINITY;
        float largest = glint_warp_max(score[h]);
        if (lane == 0)
            per_warp[h][warp] = largest;
    }
    __syncthreads();
    float largest[HEADS];
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
        largest[h] = per_warp[h][0];
        for (int w = 1; w < N_WARP; w++)
            largest[h] = fmaxf(largest[h], per_warp[h][w]);
    }
    __syncthreads();
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
        float value = seen ? expf(score[h] - largest[h]) : 0;
        weight[h][tid] = value;
        value = glint_warp_sum(value);
        if (lane == 0)
            per_warp[h][warp] = value;
    }
    __syncthreads();
    int64_t stride = dim + 2;
    float *part =
        op.part + (((int64_t)blockIdx.z * op.n_split + blockIdx.x) * op.n_head + head) * stride;
    if (tid < n_head) {
        float total = 0, most = 0;
        for (int w = 0; w < N_WARP; w++)
            total += per_warp[tid][w];
        for (int h = 0; h < HEADS; h++)
            most = h == tid ? largest[h] : most;
        part[tid * stride + dim] = most;
        part[tid * stride + dim + 1] = total;
    }
    const char *values = page_run(&op, ref, split, 1, head_kv);
    for (int i = tid; i < 2 * dim; i += GLINT_CUDA_THREADS) {
        int d = i % dim, first = i / dim * HALF_HEADS;
        float sum[HALF_HEADS] = {};
#pragma unroll 8
        for (int key = begin - origin; key < end - origin; key++) {
            float v = load_one(op.plane.dtype_v, values + (uint64_t)key * op.plane.row_bytes[1], d);
#pragma unroll
            for (int h = 0; h < HALF_HEADS; h++)
                sum[h] = fmaf(weight[first + h][key], v, sum[h]);
        }
#pragma unroll
        for (int h = 0; h < HALF_HEADS; h++)
            if (first + h < n_head)
                part[(first + h) * stride + d] = sum[h];
    }
}

enum { MERGE_THREADS = 128 };

// grid: head, row
static __global__ void attention_merge(struct glint_cuda_attention op) {
    struct range see = visible(&op.ref[blockIdx.y], op.window);
    int n = (see.end - 1) / GLINT_CUDA_SPLIT - see.begin / GLINT_CUDA_SPLIT + 1;
    int dim = op.plane.head_dim;
    int64_t stride = dim + 2, step = op.n_head * stride;
    const float *part = op.part + (int64_t)blockIdx.y * op.n_split * step + blockIdx.x * stride;
    float largest = -INFINITY, total = 0;
    for (int s = 0; s < n; s++)
        largest = fmaxf(largest, part[s * step + dim]);
    for (int s = 0; s < n; s++)
        total = fmaf(part[s * step + dim + 1], expf(part[s * step + dim] - largest), total);
    float *out = op.out + ((int64_t)blockIdx.y * op.n_head + blockIdx.x) * dim;
    for (int d = (int)threadIdx.x; d < dim; d += MERGE_THREADS) {
        float sum = 0;
#pragma unroll 4
        for (int s = 0; s < n; s++)
            sum = fmaf(part[s * step + d], expf(part[s * step + dim] - largest), sum);
        out[d] = sum / total;
    }
}

extern "C" void glint_cuda_init_attention(struct glint_cuda_kernels *kernels) {
    kernels->attention =
        GLINT_CUDA_KERNEL(attention<GLINT_CUDA_HEADS>, struct glint_cuda_attention);
    kernels->attention_few =
        GLINT_CUDA_KERNEL(attention<GLINT_CUDA_HEADS_FEW>, struct glint_cuda_attention);
    kernels->attention_merge = GLINT_CUDA_KERNEL(attention_merge, struct glint_cuda_attention);
}
