// SPDX-License-Identifier: Apache-2.0
// token_fixture.c — reads the files of tests/fixtures/chat/.
#include "token_fixture.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FILE = 16 << 20 };

static const struct glint_json *member(const struct glint_json *object, const char *key) {
    const struct glint_json *value = glint_json_get(object, key);
    if (!value)
        fail_msg("no member \"%s\"", key);
    return value;
}

struct glint_view token_fixture_text(const struct glint_json *object, const char *key) {
    struct glint_view text = {NULL, 0};
    if (!glint_json_to_string(member(object, key), &text))
        fail_msg("member \"%s\" is no string", key);
    return text;
}

static int64_t number(const struct glint_json *value) {
    int64_t n = -1;
    assert_true(glint_json_to_i64(value, &n));
    return n;
}

static void read_tokens(const struct glint_json *list, struct glint_view *tokens, int32_t *types,
                        int32_t type) {
    for (const struct glint_json *m = glint_json_first(list); m; m = m->next) {
        int64_t id = number(glint_json_at(m, 0));
        types[id] = type;
        assert_true(glint_json_to_string(glint_json_at(m, 1), &tokens[id]));
    }
}

struct glint_vocab *token_fixture_vocab(bool with_merges) {
    struct glint_json_doc *doc;
    struct glint_error err = {.text = ""};
    if (glint_json_load(&doc, "fixtures/chat/vocab_subset.json", MAX_FILE, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    const struct glint_json *root = glint_json_root(doc), *list = member(root, "merges");
    struct glint_vocab_source source = {.n_tokens = number(member(root, "vocab_size")),
                                        .bos = 200000,
                                        .eos = 200001,
                                        .eot = 200008,
                                        .pad = 200018,
                                        .add_bos = true};
    struct glint_view *tokens = glint_alloc((size_t)source.n_tokens, sizeof *tokens);
    int32_t *types = glint_alloc((size_t)source.n_tokens, sizeof *types);
    struct glint_view *merges = glint_alloc(list->n, sizeof *merges);
    for (int64_t i = 0; i < source.n_tokens; i++)
        types[i] = GLINT_TOKEN_UNUSED;
    read_tokens(member(root, "tokens"), tokens, types, GLINT_TOKEN_NORMAL);
    read_tokens(member(root, "special_tokens"), tokens, types, GLINT_TOKEN_CONTROL);
    int64_t n = 0;
    for (const struct glint_json *m = glint_json_first(list); m; m = m->next)
        assert_true(glint_json_to_string(m, &merges[n++]));
    source.tokens = tokens;
    source.types = types;
    source.merges = merges;
    source.n_merges = with_merges ? n : 0;
    struct glint_vocab *vocab;
    if (glint_vocab_open(&vocab, &source, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    glint_free(tokens);
    glint_free(types);
    glint_free(merges);
    glint_json_close(&doc);
    return vocab;
}

int token_fixture_lines(const char *path, token_fixture_fn fn, void *context) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char *text = glint_alloc(MAX_FILE, 1);
    size_t n = fread(text, 1, MAX_FILE, file);
    fclose(file);
    int n_lines = 0;
    for (char *at = text; at < text + n;) {
        char *end = memchr(at, '\n', (size_t)(text + n - at));
        if (!end)
            end = text + n;
        struct glint_json_doc *doc;
        struct glint_error err = {.text = ""};
        struct glint_view line = {at, (size_t)(end - at)};
        if (glint_json_parse(&doc, line, NULL, &err) != GLINT_OK)
            fail_msg("%s line %d: %s", path, n_lines + 1, err.text);
        fn(glint_json_root(doc), context);
        glint_json_close(&doc);
        n_lines++;
        at = end + 1;
    }
    glint_free(text);
    return n_lines;
}

void token_fixture_check_ids(const struct glint_encoding *encoding, const struct glint_json *wanted,
                             struct glint_view what) {
    size_t i = 0;
    for (const struct glint_json *m = glint_json_first(wanted); m; m = m->next, i++)
        if (i >= encoding->n || encoding->ids[i] != number(m))
            fail_msg("\"%.*s\": id %d is %d, expected %d", (int)(what.n < 200 ? what.n : 200),
                     what.data, (int)i, i < encoding->n ? encoding->ids[i] : -1, (int)number(m));
    if (i != encoding->n)
        fail_msg("\"%.*s\": %d ids, expected %d", (int)(what.n < 200 ? what.n : 200), what.data,
                 (int)encoding->n, (int)i);
}

void token_fixture_encode(const struct glint_vocab *vocab, struct glint_encode_input input,
                          struct glint_encoding *encoding) {
    struct glint_error err = {.text = ""};
    glint_encoding_clear(encoding);
    if (glint_encode(vocab, &input, encoding, &err) != GLINT_OK)
        fail_msg("%s", err.text);
}

void token_fixture_join(const struct glint_vocab *vocab, const struct glint_encoding *encoding,
                        struct glint_buffer *out) {
    glint_buffer_clear(out);
    for (size_t i = 0; i < encoding->n; i++) {
        struct glint_view bytes = glint_vocab_bytes(vocab, encoding->ids[i]);
        glint_buffer_append(out, bytes.data, bytes.n);
    }
}

uint32_t token_fixture_random(uint64_t *state, uint32_t n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}
