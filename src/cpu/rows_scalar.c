// SPDX-License-Identifier: Apache-2.0
// rows_scalar.c — the kernels of the row ops in plain C: the definition that every tier is
// measured against. Sums and functions are taken in double and rounded once.
#include "base/half.h"
#include "cpu/cpu_backend.h"

#include <math.h>

static double inverse_rms(const float *x, float epsilon, int width) {
    double sum = 0;
    for (int c = 0; c < width; c++)
        sum += (double)x[c] * x[c];
    return 1 / sqrt(sum / width + (double)epsilon);
}

static void rms_norm_scalar(float *out, const float *x, const float *gain, float epsilon,
                            int width) {
    double inverse = inverse_rms(x, epsilon, width);
    for (int c = 0; c < width; c++)
        out[c] = (float)(x[c] * inverse * (gain ? (double)gain[c] : 1));
}

static void add_rms_norm_scalar(float *h, const float *y, const float *gain, float epsilon,
                                int width) {
    double inverse = inverse_rms(y, epsilon, width);
    for (int c = 0; c < width; c++)
        h[c] += (float)(y[c] * inverse * (double)gain[c]);
}

static void layer_norm_scalar(float *out, const float *x, const struct glint_op_layer_norm *op) {
    double sum = 0, squares = 0;
    for (int c = 0; c < op->width; c++)
        sum += x[c];
    double mean = sum / op->width;
    for (int c = 0; c < op->width; c++)
        squares += (x[c] - mean) * (x[c] - mean);
    double inverse = 1 / sqrt(squares / op->width + (double)op->epsilon);
    for (int c = 0; c < op->width; c++)
        out[c] = (float)((x[c] - mean) * inverse * (double)op->gain[c] + (double)op->bias[c]);
}

static void add_scalar(float *x, const float *y, const float *bias, int width) {
    for (int c = 0; c < width; c++)
        x[c] += (y ? y[c] : 0) + (bias ? bias[c] : 0);
}

static void gelu_scalar(float *x, const float *bias, int width) {
    for (int c = 0; c < width; c++) {
        double z = x[c] + (bias ? bias[c] : 0);
        x[c] = (float)(z / 2 * erfc(-z / sqrt(2)));
    }
}

static void rotate_scalar(float *x, const float *turn, int n_pair) {
    for (int i = 0; i < n_pair; i++) {
        double a = x[2 * i], b = x[2 * i + 1], c = turn[2 * i], s = turn[2 * i + 1];
        x[2 * i] = (float)(a * c - b * s);
        x[2 * i + 1] = (float)(b * c + a * s);
    }
}

static void rotate_halves_scalar(float *x, const float *turn, int n_pair) {
    for (int i = 0; i < n_pair; i++) {
        double a = x[i], b = x[i + n_pair], c = turn[2 * i], s = turn[2 * i + 1];
        x[i] = (float)(a * c - b * s);
        x[i + n_pair] = (float)(b * c + a * s);
    }
}

static void half_from_float_scalar(uint16_t *out, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = glint_half_from_float(x[i]);
}

// The exponential of minus the magnitude: no overflow, and small results stay exact.
static double sigmoid(double x) {
    double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

static void gate_scalar(float *a, const float *g, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        a[i] = (float)(a[i] * sigmoid(g[i]));
}

static void swiglu_scalar(float *gate, const float *up, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        gate[i] = (float)(gate[i] * sigmoid(gate[i]) * up[i]);
}

static void softcap_scalar(float *x, int64_t n, float scale, float cap) {
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(cap * tanh((double)x[i] * scale / cap));
}

static int32_t best_scalar(const float *x, int width) {
    int32_t best = 0;
    float largest = -INFINITY;
    for (int c = 0; c < width; c++)
        if (x[c] > largest) {
            largest = x[c];
            best = c;
        }
    return best;
}

void glint_cpu_init_scalar(struct glint_cpu_kernels *kernels) {
    kernels->rms_norm = rms_norm_scalar;
    kernels->add_rms_norm = add_rms_norm_scalar;
    kernels->layer_norm = layer_norm_scalar;
    kernels->add = add_scalar;
    kernels->gelu = gelu_scalar;
    kernels->rotate = rotate_scalar;
    kernels->rotate_halves = rotate_halves_scalar;
    kernels->half_from_float = half_from_float_scalar;
    kernels->gate = gate_scalar;
    kernels->swiglu = swiglu_scalar;
    kernels->softcap = softcap_scalar;
    kernels->best = best_scalar;
    glint_cpu_init_attention_scalar(kernels);
}
