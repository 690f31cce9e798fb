// SPDX-License-Identifier: Apache-2.0
// fuzz.h — the one function a harness defines; libFuzzer and replay.c call it.
#ifndef GLINT_TESTS_FUZZ_FUZZ_H
#define GLINT_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

// Feeds the n bytes to one reader and returns 0. It must end soon, free everything and read no
// byte past data[n - 1], whatever the bytes are.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
