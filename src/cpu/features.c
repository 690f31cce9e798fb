// SPDX-License-Identifier: Apache-2.0
// features.c — cpuid and xgetbv on x86-64, the auxiliary vector on 64-bit Arm; every other machine
// is the scalar tier.
#include "cpu/features.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

enum {
    LEAF1_ECX_FMA = 1 << 12,
    LEAF1_ECX_OSXSAVE = 1 << 27,
    LEAF1_ECX_F16C = 1 << 29,
    LEAF7_EBX_AVX2 = 1 << 5,
    LEAF7_EBX_AVX512F = 1 << 16,
    LEAF7_EBX_AVX512DQ = 1 << 17,
    LEAF7_EBX_AVX512BW = 1 << 30,
    LEAF7_ECX_VBMI = 1 << 1,
    LEAF7_ECX_VNNI = 1 << 11,
    XCR0_AVX = 0x06,    // xmm, ymm
    XCR0_AVX512 = 0xe6, // and masks, zmm
};
static const unsigned LEAF7_EBX_AVX512VL = 1u << 31; // does not fit an enum constant

static bool all_of(unsigned value, unsigned bits) {
    return (value & bits) == bits;
}

enum glint_cpu_tier glint_cpu_tier_best(void) {
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) ||
        !all_of(ecx, LEAF1_ECX_FMA | LEAF1_ECX_OSXSAVE | LEAF1_ECX_F16C))
        return GLINT_CPU_TIER_SCALAR;
    unsigned saved = (unsigned)_xgetbv(0);
    if (!all_of(saved, XCR0_AVX) || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) ||
        !all_of(ebx, LEAF7_EBX_AVX2))
        return GLINT_CPU_TIER_SCALAR;
    unsigned avx512 =
        LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512DQ | LEAF7_EBX_AVX512BW | LEAF7_EBX_AVX512VL;
    if (!all_of(saved, XCR0_AVX512) || !all_of(ebx, avx512))
        return GLINT_CPU_TIER_AVX2;
    if (!all_of(ecx, LEAF7_ECX_VBMI | LEAF7_ECX_VNNI))
        return GLINT_CPU_TIER_AVX512;
    return GLINT_CPU_TIER_VNNI;
}

#elif defined(__aarch64__)
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

enum glint_cpu_tier glint_cpu_tier_best(void) {
#if defined(__linux__)
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? GLINT_CPU_TIER_DOTPROD : GLINT_CPU_TIER_NEON;
#elif defined(__APPLE__)
    return GLINT_CPU_TIER_DOTPROD; // all of theirs
#else
    return GLINT_CPU_TIER_NEON;
#endif
}

#else

enum glint_cpu_tier glint_cpu_tier_best(void) {
    return GLINT_CPU_TIER_SCALAR;
}

#endif

const char *glint_cpu_tier_name(enum glint_cpu_tier tier) {
#if defined(__aarch64__)
    static const char *const names[GLINT_CPU_N_TIER] = {"scalar", "neon", "dotprod"};
#else
    static const char *const names[GLINT_CPU_N_TIER] = {"scalar", "avx2", "avx512", "vnni"};
#endif
    return names[tier];
}

bool glint_cpu_tier_by_name(const char *name, enum glint_cpu_tier *tier) {
    for (int i = 0; i < GLINT_CPU_N_TIER; i++) {
        if (strcmp(name, glint_cpu_tier_name((enum glint_cpu_tier)i)) == 0) {
            *tier = (enum glint_cpu_tier)i;
            return true;
        }
    }
    return false;
}
