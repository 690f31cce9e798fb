// SPDX-License-Identifier: Apache-2.0
// fuzz_utf8.c — repairing any bytes gives well-formed text, and well-formed text is left alone.
#include "base/utf8.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *text = (const char *)data;
    struct glint_buffer out = {.data = NULL};
    glint_utf8_repair(&out, text, n);
    struct glint_view repaired = {.data = out.data, .n = out.n};
    struct glint_view given = {.data = text, .n = n};
    if (!glint_utf8_is_valid(out.data, out.n))
        abort();
    if (glint_utf8_is_valid(text, n) != glint_view_equal(repaired, given))
        abort();
    if (glint_utf8_is_valid(text, n)) {
        // Cutting valid text anywhere and trimming leaves valid text.
        for (size_t cut = 0; cut <= n; cut += 1 + n / 64) {
            if (!glint_utf8_is_valid(text, glint_utf8_trim(text, cut)))
                abort();
        }
    }
    glint_buffer_fini(&out);
    return 0;
}
