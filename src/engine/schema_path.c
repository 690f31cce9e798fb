// SPDX-License-Identifier: Apache-2.0
// schema_path.c — see schema_path.h.
#include "engine/schema_path.h"

#include "sample/number_dfa.h"

#include <string.h>

// Path of `wanted` below `at` onto out; false when it is not there. Depth is the reader's limit.
static bool find_path(const struct glint_json *at, const struct glint_json *wanted,
                      struct glint_buffer *out) {
    if (at == wanted)
        return true;
    size_t n = out->n;
    unsigned i = 0;
    for (const struct glint_json *m = glint_json_first(at); m; m = m->next, i++) {
        if (at->kind == GLINT_JSON_ARRAY)
            glint_buffer_printf(out, "/%u", i);
        else
            glint_buffer_printf(out, "/%.*s", (int)m->key.n, m->key.data);
        if (find_path(m, wanted, out))
            return true;
        out->n = n;
    }
    return false;
}

enum glint_status glint_schema_fail(const struct glint_schema_document *document,
                                    const struct glint_json *at, struct glint_error *err,
                                    enum glint_status status, const char *what) {
    struct glint_buffer path = {.data = NULL};
    glint_buffer_append_text(&path, "");
    if (at)
        find_path(document->root, at, &path);
    if (path.data && path.n < path.capacity)
        path.data[path.n] = 0;
    glint_fail(err, status, "%s#%.*s: %s", document->name, (int)path.n, path.data ? path.data : "",
               what);
    glint_buffer_fini(&path);
    return status;
}

static int hex_digit(char c) {
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) & 15 : -1;
}

// One step of a JSON pointer in a URI, decoded into key; false when it is too long.
static bool decode_step(struct glint_view step, char key[256], size_t *n) {
    *n = 0;
    for (size_t i = 0; i < step.n; i++) {
        char c = step.data[i];
        if (*n == 256)
            return false;
        if (c == '%' && i + 2 < step.n && hex_digit(step.data[i + 1]) >= 0 &&
            hex_digit(step.data[i + 2]) >= 0) {
            c = (char)(hex_digit(step.data[i + 1]) << 4 | hex_digit(step.data[i + 2]));
            i += 2;
        } else if (c == '~' && i + 1 < step.n) {
            c = step.data[++i] == '1' ? '/' : '~';
        }
        key[(*n)++] = c;
    }
    return true;
}

static const struct glint_json *find_anchor(const struct glint_json *at, struct glint_view name) {
    struct glint_view anchor;
    if (glint_json_to_string(glint_json_get(at, "$anchor"), &anchor) &&
        glint_view_equal(anchor, name))
        return at;
    for (const struct glint_json *m = glint_json_first(at); m; m = m->next) {
        const struct glint_json *found = find_anchor(m, name);
        if (found)
            return found;
    }
    return NULL;
}

const struct glint_json *glint_schema_follow(const struct glint_schema_document *document,
                                             struct glint_view reference) {
    const struct glint_json *at = document->root;
    if (reference.n == 0 || reference.data[0] != '#')
        return NULL;
    if (reference.n > 1 && reference.data[1] != '/')
        return find_anchor(at, (struct glint_view){reference.data + 1, reference.n - 1});
    for (size_t begin = 2; begin <= reference.n && at;) {
        size_t end = begin, n;
        char key[256];
        while (end < reference.n && reference.data[end] != '/')
            end++;
        if (!decode_step((struct glint_view){reference.data + begin, end - begin}, key, &n))
            return NULL;
        if (at->kind == GLINT_JSON_ARRAY) {
            uint32_t i = 0;
            for (size_t j = 0; j < n; j++)
                i = key[j] >= '0' && key[j] <= '9' && i < 1000000
                        ? 10 * i + (uint32_t)(key[j] - '0')
                        : UINT32_MAX / 2;
            at = glint_json_at(at, i);
        } else {
            at = glint_json_get_view(at, (struct glint_view){key, n});
        }
        begin = end + 1;
    }
    return at;
}

static bool members_equal(const struct glint_json *a, const struct glint_json *b) {
    const struct glint_json *n = glint_json_first(b);
    for (const struct glint_json *m = glint_json_first(a); m; m = m->next) {
        if (a->kind == GLINT_JSON_OBJECT)
            n = glint_json_get_view(b, m->key);
        if (!n || !glint_json_equal(m, n))
            return false;
        n = n->next;
    }
    return true;
}

bool glint_json_equal(const struct glint_json *a, const struct glint_json *b) {
    struct glint_decimal x, y;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case GLINT_JSON_NULL:
        return true;
    case GLINT_JSON_BOOL:
        return a->truth == b->truth;
    case GLINT_JSON_NUMBER:
        if (glint_decimal_read(a->text, &x) && glint_decimal_read(b->text, &y))
            return glint_decimal_compare(&x, &y) == 0;
        return glint_view_equal(a->text, b->text);
    case GLINT_JSON_STRING:
        return glint_view_equal(a->text, b->text);
    case GLINT_JSON_ARRAY:
    case GLINT_JSON_OBJECT:
        return a->n == b->n && members_equal(a, b);
    }
    return false;
}
