// SPDX-License-Identifier: Apache-2.0
// tolerance.h — how far results may be from the definition; docs/numerics.md says why.
// Errors are relative to the largest magnitude of the row at hand unless the name says "abs".
#ifndef GLINT_TESTS_TOLERANCE_H
#define GLINT_TESTS_TOLERANCE_H

// rms_norm, add_rms_norm, head norm and rotation: a sum of squares and three roundings.
#define GLINT_TOLERANCE_NORM 1e-6
// gate and swiglu, relative to the value itself: the sigmoid's 3 units in the last place.
#define GLINT_TOLERANCE_SIGMOID 6e-7
// gelu, relative to the argument: the exponential, the polynomial's rounding, two products.
#define GLINT_TOLERANCE_GELU 2e-7
// softcap, relative to the value itself.
#define GLINT_TOLERANCE_SOFTCAP 6e-7
// attention: dot products of 128 and weighted means of up to thousands of rows.
#define GLINT_TOLERANCE_ATTENTION 2e-5
// matmul, relative to |w| |x| of the weight row and the row of x (Euclidean lengths).
#define GLINT_TOLERANCE_MATMUL_INT8  1e-2 // x rounded to int8
#define GLINT_TOLERANCE_MATMUL_FLOAT 1e-5 // float weights or exact activations
#define GLINT_TOLERANCE_MATMUL_HALF  5e-4 // CUDA: x rounded to binary16

// Whole models against the official float32 implementation, float32 cache and activations.
#define GLINT_TOLERANCE_HIDDEN        1e-4 // relative to the row's largest value
#define GLINT_TOLERANCE_LOGIT_LARGEST 5e-3 // absolute; logits span 20
#define GLINT_TOLERANCE_LOGIT_MEAN    3e-4 // absolute
// After a picture the largest is the same, the mean a little wider: the tower's rounding comes
// first.
#define GLINT_TOLERANCE_PICTURE   1e-4 // absolute: pixels, the tower's output, features
#define GLINT_TOLERANCE_SEEN_MEAN 5e-4 // absolute: logits after a picture

#endif
