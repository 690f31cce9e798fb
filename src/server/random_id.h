// SPDX-License-Identifier: Apache-2.0
// random_id.h — ids that cannot be guessed.
#ifndef GLINT_SERVER_RANDOM_ID_H
#define GLINT_SERVER_RANDOM_ID_H

#include <stddef.h>
#include <stdint.h>

enum { GLINT_RANDOM_ID_CHARS = 24, GLINT_RANDOM_ID_BYTES = 48 };

// "prefix" and GLINT_RANDOM_ID_CHARS letters and digits.
void glint_random_id(char out[GLINT_RANDOM_ID_BYTES], const char *prefix);
uint64_t glint_random_u64(void);

#endif
