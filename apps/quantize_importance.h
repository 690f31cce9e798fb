// SPDX-License-Identifier: Apache-2.0
// quantize_importance.h — an importance matrix file as llama.cpp writes and reads it: a GGUF file
// of type "imatrix" with, for each weight matrix NAME, NAME.in_sum2 [n_col] (sums of squares of
// what the matrix was multiplied with) and NAME.counts [1] (how many rows were summed).
#ifndef GLINT_APPS_QUANTIZE_IMPORTANCE_H
#define GLINT_APPS_QUANTIZE_IMPORTANCE_H

#include "base/status.h"
#include "format/gguf.h"

struct glint_importance;

// Reads and checks the whole file: sums finite and not negative, counts positive.
enum glint_status glint_importance_open(struct glint_importance **importance, const char *path,
                                        struct glint_error *err);
void glint_importance_close(struct glint_importance **importance);
// Mean square of each input of a matrix, [n_col], into *values; NULL when the file has nothing
// for this name. GLINT_E_FORMAT when the lengths differ.
enum glint_status glint_importance_find(const struct glint_importance *importance, const char *name,
                                        uint64_t n_col, const float **values,
                                        struct glint_error *err);
// Matrices the file covers.
size_t glint_importance_count(const struct glint_importance *importance);

#endif
