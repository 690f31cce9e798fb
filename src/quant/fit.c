// SPDX-License-Identifier: Apache-2.0
#include "quant/fit.h"

#include "base/half.h"

uint16_t glint_fit_half(float value) {
    const float largest = 65504.0f;
    value = value > largest ? largest : value;
    value = value < -largest ? -largest : value;
    return glint_half_from_float(value);
}

static struct glint_fit fit_range(float low, float high, int n_level) {
    struct glint_fit fit = {(high - low) / (float)(n_level - 1), low};
    return fit;
}

struct glint_fit glint_fit_affine(const float *x, const float *w, int n, int n_level) {
    (void)w;
    float low = x[0], high = x[0];
    for (int i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return fit_range(low, high, n_level);
}

static struct glint_fit fit_affine_k(const float *x, const float *w, int n, int n_level) {
    (void)w;
    float low = 0.0f, high = 0.0f;
    for (int i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return fit_range(low, high, n_level);
}

float glint_fit_signed(const float *x, const float *w, int n, int n_half) {
    (void)w;
    float peak = 0.0f;
    for (int i = 0; i < n; i++) {
        float size = x[i] < 0.0f ? -x[i] : x[i];
        float best = peak < 0.0f ? -peak : peak;
        peak = size > best ? x[i] : peak;
    }
    return peak / -(float)n_half;
}

void glint_fit_k_affine(struct glint_fit_k *fit, uint8_t *code, const float *x, const float *w,
                        const struct glint_fit_shape *shape) {
    int n_group = 256 / shape->n_sub;
    struct glint_fit group[16];
    float top_scale = 0.0f, top_min = 0.0f;
    for (int j = 0; j < n_group; j++) {
        group[j] = fit_affine_k(x + j * shape->n_sub, w, shape->n_sub, shape->n_level);
        top_scale = group[j].scale > top_scale ? group[j].scale : top_scale;
        top_min = -group[j].min > top_min ? -group[j].min : top_min;
    }
    fit->d = glint_fit_half(top_scale / (float)shape->peak);
    fit->dmin = glint_fit_half(top_min / (float)shape->peak);
    float d = glint_half_to_float(fit->d), dmin = glint_half_to_float(fit->dmin);
    for (int j = 0; j < n_group; j++) {
        fit->scale[j] =
            (uint8_t)glint_fit_round(group[j].scale * glint_fit_inverse(d), 0, shape->peak);
        fit->min[j] =
            (uint8_t)glint_fit_round(-group[j].min * glint_fit_inverse(dmin), 0, shape->peak);
        float min = dmin * (float)fit->min[j];
        float inverse = glint_fit_inverse(d * (float)fit->scale[j]);
        for (int i = j * shape->n_sub; i < (j + 1) * shape->n_sub; i++)
            code[i] = (uint8_t)glint_fit_round((x[i] + min) * inverse, 0, shape->n_level - 1);
    }
}

uint16_t glint_fit_k_signed(int8_t *scale, int8_t *code, const float *x, const float *w,
                            const struct glint_fit_shape *shape) {
    int n_group = 256 / shape->n_sub, half = shape->n_level / 2;
    float group[16], top = 0.0f;
    for (int j = 0; j < n_group; j++) {
        group[j] = glint_fit_signed(x + j * shape->n_sub, w, shape->n_sub, half);
        float size = group[j] < 0.0f ? -group[j] : group[j];
        top = size > (top < 0.0f ? -top : top) ? group[j] : top;
    }
    uint16_t stored = glint_fit_half(top / -(float)shape->peak);
    float d = glint_half_to_float(stored);
    for (int j = 0; j < n_group; j++) {
        scale[j] =
            (int8_t)glint_fit_round(group[j] * glint_fit_inverse(d), -shape->peak, shape->peak - 1);
        float inverse = glint_fit_inverse(d * (float)scale[j]);
        for (int i = j * shape->n_sub; i < (j + 1) * shape->n_sub; i++)
            code[i] = (int8_t)glint_fit_round(x[i] * inverse, -half, half - 1);
    }
    return stored;
}

void glint_fit_pack_scales(const struct glint_fit_k *fit, uint8_t scales[12]) {
    for (int j = 0; j < 4; j++) {
        scales[j] = (uint8_t)(fit->scale[j] | fit->scale[j + 4] >> 4 << 6);
        scales[j + 4] = (uint8_t)(fit->min[j] | fit->min[j + 4] >> 4 << 6);
        scales[j + 8] = (uint8_t)((fit->scale[j + 4] & 15) | (fit->min[j + 4] & 15) << 4);
    }
}
