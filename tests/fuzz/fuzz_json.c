// SPDX-License-Identifier: Apache-2.0
// fuzz_json.c — whatever the JSON reader takes, the writer spells so that it reads back the same.
#include "format/json_write.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>

static void check_round_trip(const struct glint_json *root, enum glint_json_style style) {
    struct glint_buffer first = {.data = NULL}, second = {.data = NULL};
    struct glint_json_doc *doc;
    glint_json_put_value(&first, root, style);
    struct glint_view text = {first.data, first.n};
    if (first.failed)
        abort();
    // Numbers too large for a double are the one spelling that is no JSON: Infinity.
    if (glint_json_parse(&doc, text, NULL, NULL) == GLINT_OK) {
        glint_json_put_value(&second, glint_json_root(doc), style);
        if (!glint_view_equal(text, (struct glint_view){second.data, second.n}))
            abort();
        glint_json_close(&doc);
    } else {
        bool infinite = false;
        for (size_t i = 0; i + 8 <= text.n; i++)
            infinite |=
                glint_view_starts((struct glint_view){text.data + i, text.n - i}, "Infinity");
        if (!infinite)
            abort();
    }
    glint_buffer_fini(&first);
    glint_buffer_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct glint_view text = {(const char *)data, n};
    for (int repair = 0; repair < 2; repair++) {
        const struct glint_json_options options = {.repair_surrogates = repair};
        struct glint_json_doc *doc;
        struct glint_error err = {.status = GLINT_OK};
        if (glint_json_parse(&doc, text, &options, &err) == GLINT_OK) {
            check_round_trip(glint_json_root(doc), GLINT_JSON_PYTHON);
            check_round_trip(glint_json_root(doc), GLINT_JSON_COMPACT);
            glint_json_close(&doc);
        } else if (err.text[0] == 0 || doc) {
            abort();
        }
    }
    return 0;
}
