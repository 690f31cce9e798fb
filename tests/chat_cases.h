// SPDX-License-Identifier: Apache-2.0
// chat_cases.h — the cases of fixtures/chat/*.jsonl, one JSON document a line, for tests.
#ifndef GLINT_TESTS_CHAT_CASES_H
#define GLINT_TESTS_CHAT_CASES_H

#include "base/alloc.h"
#include "format/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The whole file, terminated; the test stops when it cannot be read.
static inline struct glint_buffer read_file(const char *path) {
    struct glint_buffer text = {.data = NULL};
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        abort();
    }
    char block[4096];
    size_t n;
    while ((n = fread(block, 1, sizeof block, file)) != 0)
        glint_buffer_append(&text, block, n);
    fclose(file);
    return text;
}

struct chat_cases {
    struct glint_buffer text;
    size_t at;
    struct glint_json_doc *doc; // of the current line
};

static inline struct chat_cases chat_cases_open(const char *path) {
    return (struct chat_cases){.text = read_file(path)};
}

// The next case, valid until the next call; NULL (and everything released) after the last.
static inline const struct glint_json *chat_cases_next(struct chat_cases *cases) {
    glint_json_close(&cases->doc);
    if (cases->at >= cases->text.n) {
        glint_buffer_fini(&cases->text);
        return NULL;
    }
    const char *line = cases->text.data + cases->at;
    const char *end = memchr(line, '\n', cases->text.n - cases->at);
    size_t n = end ? (size_t)(end - line) : cases->text.n - cases->at;
    cases->at += n + 1;
    struct glint_error err;
    struct glint_json_options options = {.repair_surrogates = true};
    if (glint_json_parse(&cases->doc, (struct glint_view){line, n}, &options, &err) != GLINT_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return glint_json_root(cases->doc);
}

// The text of a string member; empty when absent.
static inline struct glint_view case_text(const struct glint_json *value, const char *key) {
    struct glint_view text = {.data = "", .n = 0};
    glint_json_to_string(glint_json_get(value, key), &text);
    return text;
}

#endif
