// SPDX-License-Identifier: Apache-2.0
// features.h — what the processor and the operating system allow, reduced to an ordered list of
// tiers. The only place that asks; kernels are compiled for a tier and chosen through the tables.
#ifndef GLINT_CPU_FEATURES_H
#define GLINT_CPU_FEATURES_H

#include <stdbool.h>

// Each tier includes the ones before it.
enum glint_cpu_tier {
    GLINT_CPU_TIER_SCALAR, // plain C
#if defined(__aarch64__)
    GLINT_CPU_TIER_NEON,    // what every 64-bit Arm has
    GLINT_CPU_TIER_DOTPROD, // and its dot product of bytes
#else
    GLINT_CPU_TIER_AVX2,   // AVX2, FMA, F16C
    GLINT_CPU_TIER_AVX512, // AVX-512 F, BW, DQ, VL
    GLINT_CPU_TIER_VNNI,   // AVX-512 VNNI, VBMI
#endif
    GLINT_CPU_N_TIER
};

// The best tier of this machine: the instructions exist and the system saves their registers.
enum glint_cpu_tier glint_cpu_tier_best(void);
const char *glint_cpu_tier_name(enum glint_cpu_tier tier);
// False when no tier has that name.
bool glint_cpu_tier_by_name(const char *name, enum glint_cpu_tier *tier);

#endif
