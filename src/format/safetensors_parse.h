// SPDX-License-Identifier: Apache-2.0
// safetensors_parse.h — one safetensors file's bytes into tensors; used by safetensors.c only.
#ifndef GLINT_FORMAT_SAFETENSORS_PARSE_H
#define GLINT_FORMAT_SAFETENSORS_PARSE_H

#include "format/safetensors.h"

struct glint_safetensors_part {
    const char *path;    // borrowed, for messages
    const uint8_t *data; // [n] borrowed: tensors point into it
    uint64_t n;
    struct glint_safetensors_tensor *tensors; // [n_tensors] owned, with their names; i_file is 0
    size_t n_tensors;
};

// path, data and n are set by the caller. On failure nothing is left to free.
enum glint_status glint_safetensors_part_parse(struct glint_safetensors_part *part,
                                               struct glint_error *err);
void glint_safetensors_part_fini(struct glint_safetensors_part *part);

#endif
