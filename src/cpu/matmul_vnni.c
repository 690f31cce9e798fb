// SPDX-License-Identifier: Apache-2.0
// matmul_vnni.c — the integer kernels with VNNI: four products and their sum in one instruction,
// on 512-bit registers. 6 rows of x by 32 weight rows keep 12 integer and 12 float sums in the
// 32 registers; a code vector is loaded once for 6 rows, a piece of x once for 32 weight rows.
#define TOKENS  6
#define VECTORS 2

#include "cpu/dot_quads.h"
#include "cpu/multiply_tmpl.h"

#define SINK_DOT(sum, code, x) _mm512_dpbusd_epi32(sum, code, x)
#define GLINT_MULTIPLY_ONE
#include "cpu/multiply_one.h"

// One row of x times Q6_K, row by row: the 210 bytes of a row are loaded together. Rows of 19,968
// columns lie almost 16 KiB apart, in the same few sets of the first-level cache; loads that go
// round the rows, as those of unpack_tmpl.h do, would find that they have driven each other out.
struct q6_k_x {
    __m512i q[4]; // 64 columns each
    __m512i bias; // in the order of q6_k_sums
};

// The sums of 16 sub-blocks, sub-block 4k + j at 4j + k, bias included.
INLINE __m512i q6_k_sums(const struct q6_k_x *x, const uint8_t *block) {
    const __m512i nibble = _mm512_set1_epi8(15), top = _mm512_set1_epi8(48);
    // The two top bits of columns 0..31 and 32..63 of a half, then of 64..95 and 96..127.
    const __m512i left = _mm512_inserti64x4(_mm512_set1_epi32(4), _mm256_set1_epi32(2), 1);
    const __m512i right = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi32(2), 1);
    __m512i sum[4];
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
        __m512i low = _mm512_loadu_si512(block + 64 * half);
        __m512i high = _mm512_broadcast_i64x4(
            _mm256_loadu_si256((const __m256i *)(const void *)(block + 128 + 32 * half)));
        __m512i even = _mm512_or_si512(_mm512_and_si512(low, nibble),
                                       _mm512_and_si512(_mm512_sllv_epi32(high, left), top));
        __m512i odd = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(low, 4), nibble),
                                      _mm512_and_si512(_mm512_srlv_epi32(high, right), top));
        sum[2 * half] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), even, x->q[2 * half]);
        sum[2 * half + 1] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), odd, x->q[2 * half + 1]);
    }
    __m512i first = _mm512_add_epi32(_mm512_unpacklo_epi32(sum[0], sum[1]),
                                     _mm512_unpackhi_epi32(sum[0], sum[1]));
    __m512i second = _mm512_add_epi32(_mm512_unpacklo_epi32(sum[2], sum[3]),
                                      _mm512_unpackhi_epi32(sum[2], sum[3]));
    return _mm512_add_epi32(x->bias, _mm512_add_epi32(_mm512_unpacklo_epi64(first, second),
                                                      _mm512_unpackhi_epi64(first, second)));
}

// Products of the 8 blocks of two rows: blocks 0, 2, 4, 6 and 1, 3, 5, 7 of a, then of b.
INLINE __m512 q6_k_pair(const struct q6_k_x *x, const uint8_t *a, const uint8_t *b) {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15));
    const __m512i row = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi32(1), 1);
    __m512i sum_a = q6_k_sums(x, a), sum_b = q6_k_sums(x, b);
    __m256i scale = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(a + 192))),
        _mm_loadu_si128((const __m128i *)(const void *)(b + 192)), 1);
    scale = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(scale, order), 0xd8);
    uint16_t d_a, d_b;
    memcpy(&d_a, a + 208, sizeof d_a);
    memcpy(&d_b, b + 208, sizeof d_b);
    __m128 d_both = _mm_cvtph_ps(_mm_cvtsi32_si128((int)(d_a | (uint32_t)d_b << 16)));
    __m512 d = _mm512_permutexvar_ps(row, _mm512_castps128_ps512(d_both));
    __m512 even_scale =
        _mm512_mul_ps(d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_castsi256_si128(scale))));
    __m512 odd_scale = _mm512_mul_ps(
        d, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm256_extracti128_si256(scale, 1))));
    __m512 even = _mm512_cvtepi32_ps(_mm512_shuffle_i32x4(sum_a, sum_b, 0x88));
    __m512 odd = _mm512_cvtepi32_ps(_mm512_shuffle_i32x4(sum_a, sum_b, 0xdd));
    return _mm512_fmadd_ps(odd, odd_scale, _mm512_mul_ps(even, even_scale));
}

// Rows i and i + 4, i = 0..3: out[k] holds blocks 2k and 2k + 1 of rows 0..3, then of rows 4..7.
INLINE void q6_k_eight(__m512 out[4], const struct q6_k_x *x,
                       const struct glint_tile_source *source, int first) {
    size_t stride = source->stride;
    __m512d low[2], high[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        __m512 p[2];
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            int row = first + 2 * i + j;
            const uint8_t *a = source->rows + (size_t)row * stride;
            look_ahead_row(source, row, 210);
            look_ahead_row(source, row + 4, 210);
            p[j] = q6_k_pair(x, a, a + 4 * stride);
        }
        low[i] = _mm512_castps_pd(_mm512_unpacklo_ps(p[0], p[1]));
        high[i] = _mm512_castps_pd(_mm512_unpackhi_ps(p[0], p[1]));
    }
    out[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(low[0], low[1]));
    out[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low[0], low[1]));
    out[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high[0], high[1]));
    out[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high[0], high[1]));
}

static void one_q6_k(struct glint_tile *tile, const struct glint_tile_source *source,
                     const struct glint_tile_multiply *job) {
    (void)tile;
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    struct q6_k_x x = {.bias = _mm512_permutexvar_epi32(order, _mm512_loadu_si512(job->bias))};
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        x.q[k] = _mm512_loadu_si512(job->q + 64 * k);
    __m512 top[4], bottom[4], acc = _mm512_loadu_ps(job->acc);
    q6_k_eight(top, &x, source, 0);
    q6_k_eight(bottom, &x, source, 8);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        __m512 even = _mm512_shuffle_f32x4(top[k], bottom[k], 0x88);
        __m512 odd = _mm512_shuffle_f32x4(top[k], bottom[k], 0xdd);
        acc = _mm512_fmadd_ps(even, _mm512_set1_ps(job->scale[2 * k]), acc);
        acc = _mm512_fmadd_ps(odd, _mm512_set1_ps(job->scale[2 * k + 1]), acc);
    }
    _mm512_storeu_ps(job->acc, acc);
}

void glint_matmul_init_vnni(struct glint_matmul_kernels *kernels) {
    fill_multiply(kernels);
    fill_multiply_one(kernels);
    kernels->multiply_one[GLINT_DTYPE_Q6_K] = one_q6_k;
}
