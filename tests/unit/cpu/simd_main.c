// SPDX-License-Identifier: Apache-2.0
// simd_main.c — runs test_simd.c if the CPU has its tier, else says so and passes.
#include "unit/cpu/simd_main.h"

#include "cpu/features.h"

#include <stdio.h>

int main(void) {
    enum glint_cpu_tier tier;
    if (!glint_cpu_tier_by_name(TIER, &tier))
        return 1;
    if (tier > glint_cpu_tier_best()) {
        printf("this CPU has no %s\n", TIER);
        return 0;
    }
    return run_simd_tests();
}
