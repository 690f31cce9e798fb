// SPDX-License-Identifier: Apache-2.0
// quantize_run.h — rewrites a GGUF file with other tensor types, a few megabytes at a time.
// Keys are copied; general.file_type, general.quantization_version and quantize.imatrix.* are
// set, split.* dropped (the output is one file). The output appears whole or not at all.
#ifndef GLINT_APPS_QUANTIZE_RUN_H
#define GLINT_APPS_QUANTIZE_RUN_H

#include "base/status.h"
#include "quantize_importance.h"
#include "quantize_recipe.h"

// A user's override: tensors whose names match get this type.
struct glint_quantize_rule {
    const char *pattern;
    enum glint_dtype dtype;
};

enum { GLINT_QUANTIZE_MAX_RULES = 64 };

struct glint_quantize {
    const char *input, *output;
    struct glint_quantize_recipe recipe;
    struct glint_quantize_rule rules[GLINT_QUANTIZE_MAX_RULES]; // a later one wins
    int n_rules;
    const char *imatrix_path; // NULL: none
    bool allow_requantize;    // accept matrices that are quantized already
    int n_threads;            // >= 1
    // Bytes of the input done of all; false stops the work with GLINT_E_CANCELLED. May be NULL.
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
};

struct glint_quantize_report {
    uint64_t bytes_in, bytes_out; // whole files
    int n_of_type[32];            // tensors by dtype
    int n_unweighted;             // quantized matrices without importance, when a file was given
    char an_unweighted[64];       // name of one, possibly cut
};

// report is filled on success.
enum glint_status glint_quantize_run(const struct glint_quantize *quantize,
                                     struct glint_quantize_report *report, struct glint_error *err);

#endif
