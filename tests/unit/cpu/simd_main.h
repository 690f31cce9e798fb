// SPDX-License-Identifier: Apache-2.0
// simd_main.h — what test_simd.c exports to the main function, which any CPU can run.
#ifndef GLINT_TESTS_SIMD_MAIN_H
#define GLINT_TESTS_SIMD_MAIN_H

int run_simd_tests(void);

#endif
