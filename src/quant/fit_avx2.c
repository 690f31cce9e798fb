// SPDX-License-Identifier: Apache-2.0
// fit_avx2.c — fit_scalar.c with the eight lanes of a tile in one register. Operations and their
// order are the same, and no multiply-add is fused, so the bits are too.
#include "quant/fit_kernels.h"

#include <immintrin.h>

enum { LANES = GLINT_FIT_LANES };

static inline __m256 round_clamped(__m256 x, __m256 low, __m256 high) {
    const __m256 magic = _mm256_set1_ps(12582912.0f);
    x = _mm256_min_ps(_mm256_max_ps(x, low), high);
    return _mm256_sub_ps(_mm256_add_ps(x, magic), magic);
}

static void sum_avx2(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                     const float inverse[LANES], const float min[LANES],
                     struct glint_fit_sums *sums) {
    const __m256 low = _mm256_set1_ps(codes.low), high = _mm256_set1_ps(codes.high);
    const __m256 factor = _mm256_loadu_ps(inverse), origin = _mm256_loadu_ps(min);
    __m256 c = _mm256_setzero_ps(), cc = c, cx = c;
    for (int at = 0; at < tile->n * LANES; at += LANES) {
        __m256 x = _mm256_loadu_ps(tile->x + at), w = _mm256_loadu_ps(tile->w + at);
        __m256 scaled = _mm256_mul_ps(_mm256_sub_ps(x, origin), factor);
        __m256 code = round_clamped(scaled, low, high);
        __m256 weighted = _mm256_mul_ps(w, code);
        c = _mm256_add_ps(c, weighted);
        cc = _mm256_add_ps(cc, _mm256_mul_ps(weighted, code));
        cx = _mm256_add_ps(cx, _mm256_mul_ps(weighted, x));
    }
    _mm256_storeu_ps(sums->c, c);
    _mm256_storeu_ps(sums->cc, cc);
    _mm256_storeu_ps(sums->cx, cx);
}

static void error_avx2(const struct glint_fit_tile *tile, struct glint_fit_codes codes,
                       const struct glint_fit_scales *scales, const float inverse[LANES],
                       float error[LANES]) {
    const __m256 low = _mm256_set1_ps(codes.low), high = _mm256_set1_ps(codes.high);
    const __m256 factor = _mm256_loadu_ps(inverse), scale = _mm256_loadu_ps(scales->scale);
    const __m256 min = _mm256_loadu_ps(scales->min);
    __m256 sum = _mm256_setzero_ps();
    for (int at = 0; at < tile->n * LANES; at += LANES) {
        __m256 x = _mm256_sub_ps(_mm256_loadu_ps(tile->x + at), min);
        __m256 code = round_clamped(_mm256_mul_ps(x, factor), low, high);
        __m256 miss = _mm256_sub_ps(_mm256_mul_ps(scale, code), x);
        __m256 weighted = _mm256_mul_ps(_mm256_loadu_ps(tile->w + at), miss);
        sum = _mm256_add_ps(sum, _mm256_mul_ps(weighted, miss));
    }
    _mm256_storeu_ps(error, sum);
}

// a where positive, else 1: a divisor that cannot be zero.
static inline __m256 positive_or_one(__m256 a) {
    __m256 is_positive = _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_GT_OQ);
    return _mm256_blendv_ps(_mm256_set1_ps(1.0f), a, is_positive);
}

static void solve_avx2(struct glint_fit_state *state, const struct glint_fit_sums *sums) {
    const __m256 c = _mm256_loadu_ps(sums->c), cc = _mm256_loadu_ps(sums->cc);
    const __m256 cx = _mm256_loadu_ps(sums->cx), two = _mm256_set1_ps(2.0f);
    const __m256 w = _mm256_loadu_ps(state->w), wx = _mm256_loadu_ps(state->wx);
    const __m256 wxx = _mm256_loadu_ps(state->wxx), least = _mm256_loadu_ps(state->error);
    __m256 wcc = _mm256_mul_ps(w, cc);
    __m256 det = _mm256_sub_ps(wcc, _mm256_mul_ps(c, c));
    __m256 min = _mm256_sub_ps(_mm256_mul_ps(cc, wx), _mm256_mul_ps(c, cx));
    min = _mm256_div_ps(min, positive_or_one(det));
    __m256 limit = _mm256_mul_ps(_mm256_set1_ps(1e-5f), wcc);
    min = _mm256_and_ps(min, _mm256_cmp_ps(det, limit, _CMP_GT_OQ));
    min = _mm256_min_ps(_mm256_loadu_ps(state->top_min), min);
    __m256 scale = _mm256_sub_ps(cx, _mm256_mul_ps(min, c));
    scale = _mm256_div_ps(scale, positive_or_one(cc));
    __m256 cross = _mm256_mul_ps(two, _mm256_sub_ps(_mm256_mul_ps(min, c), cx));
    __m256 slope = _mm256_mul_ps(scale, _mm256_add_ps(_mm256_mul_ps(scale, cc), cross));
    __m256 shift = _mm256_sub_ps(_mm256_mul_ps(min, w), _mm256_mul_ps(two, wx));
    __m256 error = _mm256_add_ps(_mm256_add_ps(wxx, slope), _mm256_mul_ps(min, shift));
    __m256 better = _mm256_and_ps(_mm256_cmp_ps(scale, _mm256_setzero_ps(), _CMP_GT_OQ),
                                  _mm256_cmp_ps(error, least, _CMP_LT_OQ));
    _mm256_storeu_ps(state->error, _mm256_blendv_ps(least, error, better));
    _mm256_storeu_ps(state->best.scale,
                     _mm256_blendv_ps(_mm256_loadu_ps(state->best.scale), scale, better));
    _mm256_storeu_ps(state->best.min,
                     _mm256_blendv_ps(_mm256_loadu_ps(state->best.min), min, better));
}

static void solve_signed_avx2(float scale[LANES], float gain[LANES],
                              const struct glint_fit_sums *sums) {
    const __m256 cx = _mm256_loadu_ps(sums->cx), least = _mm256_loadu_ps(gain);
    __m256 new_scale = _mm256_div_ps(cx, positive_or_one(_mm256_loadu_ps(sums->cc)));
    __m256 new_gain = _mm256_mul_ps(new_scale, cx);
    __m256 better = _mm256_cmp_ps(new_gain, least, _CMP_GT_OQ);
    _mm256_storeu_ps(scale, _mm256_blendv_ps(_mm256_loadu_ps(scale), new_scale, better));
    _mm256_storeu_ps(gain, _mm256_blendv_ps(least, new_gain, better));
}

const struct glint_fit_kernels glint_fit_kernels_avx2 = {sum_avx2, error_avx2, solve_avx2,
                                                         solve_signed_avx2};
