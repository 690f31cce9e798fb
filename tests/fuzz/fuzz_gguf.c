// SPDX-License-Identifier: Apache-2.0
// fuzz_gguf.c — a GGUF file that opens can be walked to its last byte; one that does not leaves
// an error.
#include "format/gguf.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static unsigned walk_values(const struct glint_gguf *gguf) {
    unsigned sum = 0;
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        const struct glint_gguf_kv *kv = &gguf->kvs[i];
        if (glint_gguf_find(gguf, kv->key) != kv)
            abort();
        for (uint64_t j = 0; j < kv->n; j++) {
            struct glint_view text;
            int64_t whole;
            double number;
            bool truth;
            if (glint_gguf_item_string(kv, j, &text))
                for (size_t c = 0; c < text.n; c++)
                    sum += (unsigned char)text.data[c];
            sum += glint_gguf_item_i64(kv, j, &whole);
            sum += glint_gguf_item_f64(kv, j, &number);
            sum += glint_gguf_item_bool(kv, j, &truth);
        }
    }
    return sum;
}

static unsigned walk_tensors(const struct glint_gguf *gguf, const uint8_t *data, size_t n) {
    unsigned sum = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct glint_gguf_tensor *tensor = &gguf->tensors[i];
        if (glint_gguf_find_tensor(gguf, tensor->name) != tensor)
            abort();
        if (tensor->data < data || tensor->n_bytes > (uint64_t)(data + n - tensor->data))
            abort();
        sum += tensor->data[0] + tensor->data[tensor->n_bytes - 1];
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    uint8_t *copy = malloc(n ? n : 1); // aligned, as the reader wants it
    if (!copy)
        return 0;
    if (n)
        memcpy(copy, data, n);
    struct glint_gguf *gguf;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_gguf_open_memory(&gguf, copy, n, "input", &err) == GLINT_OK) {
        volatile unsigned sum = walk_values(gguf) + walk_tensors(gguf, copy, n);
        (void)sum;
    } else if (err.text[0] == 0 || gguf) {
        abort();
    }
    glint_gguf_close(&gguf);
    free(copy);
    return 0;
}
