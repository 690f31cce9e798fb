// SPDX-License-Identifier: Apache-2.0
// row_kernels.cu — every op but products and attention. op.h has the formulas. A row's sums are
// taken by one block or one warp in a fixed tree, whatever the number of rows.
#include "cuda/kernels.h"

#include "cuda/intrinsics.cuh"

// ---- norms ----------------------------------------------------------------------------------

// Many loads at once: one block a row waits for memory more than it computes.
static __device__ float inverse_rms(const float *x, float epsilon, int width, float *scratch) {
    float sum = 0;
    if (width % 4 == 0 && (uintptr_t)x % 16 == 0) {
#pragma unroll 4
        for (int c = 4 * (int)threadIdx.x; c < width; c += 4 * GLINT_CUDA_ROW_THREADS) {
            float4 v = *(const float4 *)(const void *)(x + c);
            sum = fmaf(v.x, v.x, sum);
            sum = fmaf(v.y, v.y, sum);
            sum = fmaf(v.z, v.z, sum);
            sum = fmaf(v.w, v.w, sum);
        }
    } else {
        for (int c = (int)threadIdx.x; c < width; c += GLINT_CUDA_ROW_THREADS)
            sum = fmaf(x[c], x[c], sum);
    }
    sum = glint_block_sum(sum, scratch);
    return 1 / sqrtf(sum / (float)width + epsilon);
}

static __global__ void rms_norm(struct glint_op_rms_norm op) {
    __shared__ float scratch[32];
    const float *x = op.x + (int64_t)blockIdx.x * op.width;
    float *out = op.out + (int64_t)blockIdx.x * op.width;
    float inverse = inverse_rms(x, op.epsilon, op.width, scratch);
#pragma unroll 8
    for (int c = (int)threadIdx.x; c < op.width; c += GLINT_CUDA_ROW_THREADS)
        out[c] = x[c] * inverse * (op.gain ? op.gain[c] : 1);
}

static __global__ void add_rms_norm(struct glint_op_add_rms_norm op) {
    __shared__ float scratch[32];
    const float *y = op.y + (int64_t)blockIdx.x * op.width;
    float *h = op.h + (int64_t)blockIdx.x * op.width;
    float inverse = inverse_rms(y, op.epsilon, op.width, scratch);
#pragma unroll 8
    for (int c = (int)threadIdx.x; c < op.width; c += GLINT_CUDA_ROW_THREADS)
        h[c] += y[c] * inverse * op.gain[c];
}

static __global__ void layer_norm(struct glint_op_layer_norm op) {
    __shared__ float scratch[2][32];
    const float *x = op.x + (int64_t)blockIdx.x * op.width;
    float *out = op.out + (int64_t)blockIdx.x * op.width;
    float sum = 0, squares = 0;
    for (int c = (int)threadIdx.x; c < op.width; c += GLINT_CUDA_ROW_THREADS)
        sum += x[c];
    float mean = glint_block_sum(sum, scratch[0]) / (float)op.width;
    for (int c = (int)threadIdx.x; c < op.width; c += GLINT_CUDA_ROW_THREADS)
        squares = fmaf(x[c] - mean, x[c] - mean, squares);
    squares = glint_block_sum(squares, scratch[1]);
    float inverse = (float)(1 / sqrt((double)squares / op.width + (double)op.epsilon));
    for (int c = (int)threadIdx.x; c < op.width; c += GLINT_CUDA_ROW_THREADS)
        out[c] = fmaf((x[c] - mean) * inverse, op.gain[c], op.bias[c]);
}

// ---- heads ----------------------------------------------------------------------------------

struct turn {
    float cosine, sine;
};

static __device__ void turn_pair(float *a, float *b, struct turn turn) {
    float x = *a, y = *b;
    *a = fmaf(x, turn.cosine, -(y * turn.sine));
    *b = fmaf(y, turn.cosine, x * turn.sine);
}

// A warp a head.
static __global__ void head_norm_rope(struct glint_op_head_norm_rope op) {
    int64_t i = (int64_t)blockIdx.x * (GLINT_CUDA_THREADS / 32) + threadIdx.x / 32;
    int lane = (int)threadIdx.x % 32, n_pair = op.head_dim / 2;
    if (i >= (int64_t)op.n * op.n_head)
        return;
    float *x = op.x + i * op.head_dim;
    float sum = 0;
    for (int c = lane; c < op.head_dim; c += 32)
        sum = fmaf(x[c], x[c], sum);
    sum = glint_warp_sum(sum);
    float inverse = (float)(1 / sqrt((double)sum / op.head_dim + (double)op.epsilon));
    if (!op.inv_freq) {
        for (int c = lane; c < op.head_dim; c += 32)
            x[c] = x[c] * inverse * op.gain[c];
        return;
    }
    float position = (float)op.position[i / op.n_head];
    for (int p = lane; p < n_pair; p += 32) {
        int first = op.halves ? p : 2 * p, second = op.halves ? p + n_pair : 2 * p + 1;
        float a = x[first] * inverse * op.gain[first], b = x[second] * inverse * op.gain[second];
        struct turn turn;
        sincosf(position * op.inv_freq[p], &turn.sine, &turn.cosine);
        turn_pair(&a, &b, turn);
        x[first] = a;
        x[second] = b;
    }
}

static __global__ void rotate(struct glint_op_rotate op) {
    int64_t i = (int64_t)blockIdx.x * GLINT_CUDA_THREADS + threadIdx.x;
    int n_pair = op.head_dim / 2;
    if (i >= (int64_t)op.n * op.n_head * n_pair)
        return;
    int64_t vector = i / n_pair;
    int pair = (int)(i % n_pair);
    const float *turn = op.turn + (vector / op.n_head * n_pair + pair) * 2;
    float *x = op.x + vector * op.head_dim + 2 * pair;
    turn_pair(&x[0], &x[1], (struct turn){turn[0], turn[1]});
}

// ---- the cache ------------------------------------------------------------------------------

static __device__ char *cache_row(const struct glint_cuda_plane *plane, const int32_t *tables,
                                  const struct glint_cuda_ref *ref, int tensor, int head) {
    int32_t page = tables[ref->table + ref->position / GLINT_KV_PAGE_ROWS % ref->n_table];
    return plane->pages + (uint64_t)page * plane->page_bytes + plane->offset[tensor] +
           ((uint64_t)head * GLINT_KV_PAGE_ROWS + (uint64_t)(ref->position % GLINT_KV_PAGE_ROWS)) *
               plane->row_bytes[tensor];
}

// 32 values as quant/q8_0.c encodes them; one lane a value.
static __device__ void store_q8_0(char *block, float x) {
    int lane = (int)threadIdx.x % 32;
    uint16_t d = glint_float_half(fminf(glint_warp_max(fabsf(x)) / 127.0f, 65504.0f));
    float scale = glint_half_float(d);
    float q = rintf(x * (scale > 0 ? 1.0f / scale : 0.0f));
    q = fminf(fmaxf(q, -127.0f), 127.0f);
    block[2 + lane] = (char)(int)q;
    if (lane < 2)
        block[lane] = (char)(d >> 8 * lane);
}

// A warp a head of K or V.
static __global__ void kv_store(struct glint_cuda_store op) {
    int i = (int)(blockIdx.x * (GLINT_CUDA_THREADS / 32) + threadIdx.x / 32);
    int lane = (int)threadIdx.x % 32, n_head = op.plane.n_head_kv;
    if (i >= op.n * n_head * 2)
        return;
    int tensor = i % 2, head = i / 2 % n_head, row = i / 2 / n_head, dim = op.plane.head_dim;
    int dtype = tensor ? op.plane.dtype_v : op.plane.dtype_k;
    const float *x = (tensor ? op.v : op.k) + ((int64_t)row * n_head + head) * dim;
    char *to = cache_row(&op.plane, op.tables, &op.ref[row], tensor, head);
    for (int c = lane; c < dim; c += 32) {
        if (dtype == GLINT_DTYPE_F32)
            ((float *)(void *)to)[c] = x[c];
        else if (dtype == GLINT_DTYPE_F16)
            ((uint16_t *)(void *)to)[c] = glint_float_half(x[c]);
        else
            store_q8_0(to + c / 32 * 34, x[c]);
    }
}

// ---- values ---------------------------------------------------------------------------------

static __device__ float sigmoid(float x) {
    float e = expf(-fabsf(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

static __global__ void add(struct glint_op_add op) {
    int64_t i = (int64_t)blockIdx.x * GLINT_CUDA_THREADS + threadIdx.x;
    if (i < (int64_t)op.n * op.width)
        op.x[i] += (op.y ? op.y[i] : 0) + (op.bias ? op.bias[i % op.width] : 0);
}

static __global__ void gelu(struct glint_op_gelu op) {
    int64_t i = (int64_t)blockIdx.x * GLINT_CUDA_THREADS + threadIdx.x;
    if (i >= (int64_t)op.n * op.width)
        return;
    double z = op.x[i] + (op.bias ? op.bias[i % op.width] : 0);
    op.x[i] = (float)(z / 2 * erfc(-z * 0.70710678118654752));
}

static __global__ void gate(struct glint_op_gate op) {
    int64_t i = (int64_t)blockIdx.x * GLINT_CUDA_THREADS + threadIdx.x;
    if (i < op.count)
        op.a[i] *= sigmoid(op.g[i]);
}

static __global__ void swiglu(struct glint_op_swiglu op) {
    int64_t i = (int64_t)blockIdx.x * GLINT_CUDA_THREADS + threadIdx.x;
    if (i < op.count)
        op.gate[i] = op.gate[i] * sigmoid(op.gate[i]) * op.up[i];
}

static __global__ void softcap(struct glint_op_softcap op) {
    int64_t i = (int64_t)blockIdx.x * GLINT_CUDA_THREADS + threadIdx.x;
    if (i < op.count)
        op.x[i] = op.cap * tanhf(op.x[i] * op.scale / op.cap);
}

static __global__ void copy_rows(struct glint_op_copy_rows op) {
    int64_t i = (int64_t)blockIdx.x * GLINT_CUDA_THREADS + threadIdx.x;
    int64_t row = i / op.width, c = i % op.width;
    if (row < op.n)
        op.out[row * op.out_stride + c] = op.x[row * op.x_stride + c];
}

// The larger value, or the first of equal ones.
static __device__ void keep_best(float *value, int *at, float other, int other_at) {
    if (other > *value || (other == *value && other_at < *at)) {
        *value = other;
        *at = other_at;
    }
}

static __global__ void best(struct glint_op_best op) {
    __shared__ float values[32];
    __shared__ int places[32];
    const float *x = op.x + (int64_t)blockIdx.x * op.width;
    float value = -INFINITY;
    int at = op.width;
    for (int c = (int)threadIdx.x; c < op.width; c += GLINT_CUDA_ROW_THREADS)
        if (x[c] > value) {
            value = x[c];
            at = c;
        }
    for (int mask = 16; mask > 0; mask /= 2) {
        float other = glint_shuffle_xor_float(value, mask);
        keep_best(&value, &at, other, (int)glint_shuffle_xor((uint32_t)at, mask));
    }
    if (threadIdx.x % 32 == 0) {
        values[threadIdx.x / 32] = value;
        places[threadIdx.x / 32] = at;
    }
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int w = 1; w < GLINT_CUDA_ROW_THREADS / 32; w++)
        keep_best(&value, &at, values[w], places[w]);
    op.id[blockIdx.x] = at < op.width ? at : 0;
}

extern "C" void glint_cuda_init_rows(struct glint_cuda_kernels *kernels) {
    kernels->rms_norm = GLINT_CUDA_KERNEL(rms_norm, struct glint_op_rms_norm);
    kernels->add_rms_norm = GLINT_CUDA_KERNEL(add_rms_norm, struct glint_op_add_rms_norm);
    kernels->layer_norm = GLINT_CUDA_KERNEL(layer_norm, struct glint_op_layer_norm);
    kernels->head_norm_rope = GLINT_CUDA_KERNEL(head_norm_rope, struct glint_op_head_norm_rope);
    kernels->rotate = GLINT_CUDA_KERNEL(rotate, struct glint_op_rotate);
    kernels->kv_store = GLINT_CUDA_KERNEL(kv_store, struct glint_cuda_store);
    kernels->add = GLINT_CUDA_KERNEL(add, struct glint_op_add);
    kernels->gelu = GLINT_CUDA_KERNEL(gelu, struct glint_op_gelu);
    kernels->gate = GLINT_CUDA_KERNEL(gate, struct glint_op_gate);
    kernels->swiglu = GLINT_CUDA_KERNEL(swiglu, struct glint_op_swiglu);
    kernels->softcap = GLINT_CUDA_KERNEL(softcap, struct glint_op_softcap);
    kernels->copy_rows = GLINT_CUDA_KERNEL(copy_rows, struct glint_op_copy_rows);
    kernels->best = GLINT_CUDA_KERNEL(best, struct glint_op_best);
}
