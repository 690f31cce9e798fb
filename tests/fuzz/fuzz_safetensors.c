// SPDX-License-Identifier: Apache-2.0
// fuzz_safetensors.c — the tensors of a file that opens tile its data; else there is an error.
#include "format/safetensors.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct glint_safetensors *set;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_safetensors_open_memory(&set, data, n, "input", &err) != GLINT_OK) {
        if (err.text[0] == 0 || set)
            abort();
        return 0;
    }
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < set->n_tensors; i++) {
        const struct glint_safetensors_tensor *tensor = &set->tensors[i];
        if (glint_safetensors_find(set, tensor->name) != tensor)
            abort();
        if (tensor->data < data || tensor->n_bytes > (uint64_t)(data + n - tensor->data))
            abort();
        n_bytes += tensor->n_bytes;
    }
    if (n_bytes != set->n_tensor_bytes || n_bytes > n)
        abort();
    glint_safetensors_close(&set);
    return 0;
}
