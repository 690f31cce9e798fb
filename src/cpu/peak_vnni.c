// SPDX-License-Identifier: Apache-2.0
// peak_vnni.c — the rates of int8 dot products and of float32 multiply-adds: independent chains
// in registers. Called only where the machine has the VNNI tier.
#include "cpu/peak.h"

#include <immintrin.h>
#include <stdint.h>

enum { CHAINS = 12 };
static const long rounds = 2000000;

double glint_cpu_peak_dot_products(void) {
    return (double)rounds * CHAINS * 64;
}

void glint_cpu_peak_dot(void *context, int i_worker, int n_workers) {
    (void)i_worker;
    (void)n_workers;
    volatile uint64_t *sink = context;
    __m512i sum[CHAINS], x = _mm512_set1_epi32(0x03030303);
    for (int i = 0; i < CHAINS; i++)
        sum[i] = _mm512_set1_epi32(i);
    for (long k = 0; k < rounds; k++) {
        __asm__ volatile("" : "+v"(x)); // a new x each round, as far as the compiler knows
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sum[i] = _mm512_dpbusd_epi32(sum[i], x, x);
    }
    for (int i = 1; i < CHAINS; i++)
        sum[0] = _mm512_add_epi32(sum[0], sum[i]);
    *sink = (uint64_t)_mm512_reduce_add_epi32(sum[0]);
}

double glint_cpu_peak_fma_products(void) {
    return (double)rounds * CHAINS * 16;
}

void glint_cpu_peak_fma(void *context, int i_worker, int n_workers) {
    (void)i_worker;
    (void)n_workers;
    volatile uint64_t *sink = context;
    __m512 sum[CHAINS], x = _mm512_set1_ps(0.5f);
    for (int i = 0; i < CHAINS; i++)
        sum[i] = _mm512_set1_ps((float)i);
    for (long k = 0; k < rounds; k++) {
        __asm__ volatile("" : "+v"(x));
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sum[i] = _mm512_fmadd_ps(sum[i], x, x);
    }
    for (int i = 1; i < CHAINS; i++)
        sum[0] = _mm512_add_ps(sum[0], sum[i]);
    *sink = (uint64_t)_mm512_reduce_add_ps(sum[0]);
}
