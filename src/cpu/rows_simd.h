// SPDX-License-Identifier: Apache-2.0
// rows_simd.h — the kernels of the row ops on the vectors of simd.h. A tier file includes it and
// calls fill_rows. A sum runs in 64 lanes (four vectors) over the row and is folded in a fixed
// order; everything else is lane by lane, tails with the other lanes switched off.
#ifndef GLINT_CPU_ROWS_SIMD_H
#define GLINT_CPU_ROWS_SIMD_H

#include "cpu/cpu_backend.h"
#include "cpu/simd.h"

#ifdef GLINT_SIMD

#include <math.h>
#include <string.h>

enum { LANES = GLINT_SIMD_LANES };

static float sum_of_squares(const float *x, int width) {
    vec sum[4] = {vec_zero(), vec_zero(), vec_zero(), vec_zero()};
    int c = 0;
    for (; c + 4 * LANES <= width; c += 4 * LANES) {
        for (int k = 0; k < 4; k++) {
            vec v = vec_load(x + c + k * LANES);
            sum[k] = vec_fma(v, v, sum[k]);
        }
    }
    for (int k = 0; c < width; k++, c += LANES) {
        vec v = vec_load_part(x + c, width - c < LANES ? width - c : LANES);
        sum[k] = vec_fma(v, v, sum[k]);
    }
    return vec_sum(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])));
}

static float inverse_rms(const float *x, float epsilon, int width) {
    return (float)(1 / sqrt((double)sum_of_squares(x, width) / width + (double)epsilon));
}

static void rms_norm(float *out, const float *x, const float *gain, float epsilon, int width) {
    vec inverse = vec_set(inverse_rms(x, epsilon, width));
    for (int c = 0; c < width; c += LANES) {
        int n = width - c < LANES ? width - c : LANES;
        vec v = vec_mul(vec_load_part(x + c, n), inverse);
        if (gain != NULL)
            v = vec_mul(v, vec_load_part(gain + c, n));
        vec_store_part(out + c, v, n);
    }
}

static void add_rms_norm(float *h, const float *y, const float *gain, float epsilon, int width) {
    vec inverse = vec_set(inverse_rms(y, epsilon, width));
    for (int c = 0; c < width; c += LANES) {
        int n = width - c < LANES ? width - c : LANES;
        vec v = vec_mul(vec_load_part(y + c, n), inverse);
        v = vec_mul(v, vec_load_part(gain + c, n));
        vec_store_part(h + c, vec_add(vec_load_part(h + c, n), v), n);
    }
}

// The sum of the row, or of the squares of its distances from `mean`.
static float sum_of(const float *x, int width, const float *mean) {
    vec sum[4] = {vec_zero(), vec_zero(), vec_zero(), vec_zero()};
    vec centre = vec_set(mean ? *mean : 0);
    for (int c = 0; c < width; c += LANES) {
        int n = width - c < LANES ? width - c : LANES, k = c / LANES % 4;
        vec v = vec_keep(vec_sub(vec_load_part(x + c, n), centre), 0, n, vec_zero());
        sum[k] = mean ? vec_fma(v, v, sum[k]) : vec_add(sum[k], v);
    }
    return vec_sum(vec_add(vec_add(sum[0], sum[1]), vec_add(sum[2], sum[3])));
}

static void layer_norm(float *out, const float *x, const struct glint_op_layer_norm *op) {
    int width = op->width;
    float mean = sum_of(x, width, NULL) / (float)width;
    double spread = (double)sum_of(x, width, &mean) / width;
    vec inverse = vec_set((float)(1 / sqrt(spread + (double)op->epsilon))), centre = vec_set(mean);
    for (int c = 0; c < width; c += LANES) {
        int n = width - c < LANES ? width - c : LANES;
        vec v = vec_mul(vec_sub(vec_load_part(x + c, n), centre), inverse);
        v = vec_fma(v, vec_load_part(op->gain + c, n), vec_load_part(op->bias + c, n));
        vec_store_part(out + c, v, n);
    }
}

static void add(float *x, const float *y, const float *bias, int width) {
    for (int c = 0; c < width; c += LANES) {
        int n = width - c < LANES ? width - c : LANES;
        vec v = y ? vec_load_part(y + c, n) : vec_zero();
        if (bias)
            v = vec_add(v, vec_load_part(bias + c, n));
        vec_store_part(x + c, vec_add(vec_load_part(x + c, n), v), n);
    }
}

static void gelu(float *x, const float *bias, int width) {
    for (int c = 0; c < width; c += LANES) {
        int n = width - c < LANES ? width - c : LANES;
        vec v = vec_load_part(x + c, n);
        if (bias)
            v = vec_add(v, vec_load_part(bias + c, n));
        vec_store_part(x + c, vec_gelu(v), n);
    }
}

static void rotate(float *x, const float *turn, int n_pair) {
    for (int c = 0; c < 2 * n_pair; c += LANES) {
        int n = 2 * n_pair - c < LANES ? 2 * n_pair - c : LANES;
        vec v = vec_load_part(x + c, n), t = vec_load_part(turn + c, n);
        v = vec_fma_sub_add(v, vec_even(t), vec_mul(vec_swap(v), vec_odd(t)));
        vec_store_part(x + c, v, n);
    }
}

static void half_from_float(uint16_t *out, const float *x, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_half_store(out + i, vec_load(x + i));
    if (i < n) {
        uint16_t last[LANES];
        vec_half_store(last, vec_load_part(x + i, (int)(n - i)));
        memcpy(out + i, last, (size_t)(n - i) * sizeof *out);
    }
}

static void gate(float *a, const float *g, int64_t n) {
    for (int64_t i = 0; i < n; i += LANES) {
        int m = n - i < LANES ? (int)(n - i) : LANES;
        vec s = vec_sigmoid(vec_load_part(g + i, m));
        vec_store_part(a + i, vec_mul(vec_load_part(a + i, m), s), m);
    }
}

static void swiglu(float *gate_up, const float *up, int64_t n) {
    for (int64_t i = 0; i < n; i += LANES) {
        int m = n - i < LANES ? (int)(n - i) : LANES;
        vec x = vec_load_part(gate_up + i, m);
        x = vec_mul(vec_mul(x, vec_sigmoid(x)), vec_load_part(up + i, m));
        vec_store_part(gate_up + i, x, m);
    }
}

static void softcap(float *x, int64_t n, float scale, float cap) {
    vec inner = vec_set(scale), bound = vec_set(cap);
    for (int64_t i = 0; i < n; i += LANES) {
        int m = n - i < LANES ? (int)(n - i) : LANES;
        vec v = vec_div(vec_mul(vec_load_part(x + i, m), inner), bound);
        vec_store_part(x + i, vec_mul(bound, vec_tanh(v)), m);
    }
}

static void fill_rows(struct glint_cpu_kernels *kernels) {
    kernels->rms_norm = rms_norm;
    kernels->add_rms_norm = add_rms_norm;
    kernels->layer_norm = layer_norm;
    kernels->add = add;
    kernels->gelu = gelu;
    kernels->rotate = rotate;
    kernels->half_from_float = half_from_float;
    kernels->gate = gate;
    kernels->swiglu = swiglu;
    kernels->softcap = softcap;
}

#endif
#endif
