// SPDX-License-Identifier: Apache-2.0
// json.c — the JSON reader: one pass over the text into nodes and a text pool.
// The block is sized before the pass: every value but the first follows a comma or opens a
// container, and every string or number is at least one byte longer in the input than in the
// pool (its quotes or the separator after it), so neither array can overflow.
#include "format/json.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "format/mapped_file.h"

#include <stdlib.h>
#include <string.h>

struct glint_json_doc {
    struct glint_json *nodes; // [capacity], in the same block as this struct
    char *pool;               // decoded texts, each with a zero byte after it; same block
};

struct reader {
    const char *data; // [n] the input
    size_t n, at;
    struct glint_json *nodes; // [capacity]
    uint32_t n_nodes, capacity;
    char *pool; // [n + 1]
    size_t used;
    unsigned depth, max_depth;
    bool repair;
    const char *name;
    struct glint_error *err;
};

// ---- errors and small steps -------------------------------------------------------------------

static enum glint_status fail(const struct reader *reader, enum glint_status status,
                              const char *what) {
    size_t line = 1, line_start = 0;
    for (size_t i = 0; i < reader->at && i < reader->n; i++)
        if (reader->data[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    return glint_fail(reader->err, status, "%s: line %zu, byte %zu: %s", reader->name, line,
                      reader->at - line_start + 1, what);
}

static enum glint_status malformed(const struct reader *reader, const char *what) {
    return fail(reader, GLINT_E_FORMAT, what);
}

static void skip_space(struct reader *reader) {
    while (reader->at < reader->n) {
        char c = reader->data[reader->at];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return;
        reader->at++;
    }
}

// The byte at the cursor, or 0 at the end (a zero byte is no part of any token either).
static char peek(const struct reader *reader) {
    return reader->at < reader->n ? reader->data[reader->at] : 0;
}

static struct glint_view close_text(struct reader *reader, size_t start) {
    struct glint_view view = {reader->pool + start, reader->used - start};
    reader->pool[reader->used++] = 0;
    return view;
}

static void put_code(struct reader *reader, uint32_t code) {
    reader->used += glint_utf8_put(code, reader->pool + reader->used);
}

// ---- scalars ------------------------------------------------------------------------------------

static bool take_hex4(struct reader *reader, uint32_t *code) {
    if (reader->n - reader->at < 4)
        return false;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = reader->data[reader->at + (size_t)i];
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (unsigned)((c | 0x20) - 'a' + 10);
        else
            return false;
        value = value << 4 | digit;
    }
    reader->at += 4;
    *code = value;
    return true;
}

// After "\u". A high surrogate joins the low one that follows it, if one does.
static enum glint_status read_unicode_escape(struct reader *reader) {
    uint32_t code, low;
    if (!take_hex4(reader, &code))
        return malformed(reader, "expected four hexadecimal digits after \\u");
    if (code >= 0xd800 && code <= 0xdfff) {
        size_t mark = reader->at;
        bool pair = code < 0xdc00 && reader->n - reader->at >= 6 && reader->data[mark] == '\\' &&
                    reader->data[mark + 1] == 'u';
        if (pair) {
            reader->at += 2;
            pair = take_hex4(reader, &low) && low >= 0xdc00 && low <= 0xdfff;
        }
        if (pair) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else {
            reader->at = mark;
            if (!reader->repair)
                return malformed(reader, "a surrogate without its other half");
            code = 0xfffd;
        }
    }
    put_code(reader, code);
    return GLINT_OK;
}

static enum glint_status read_escape(struct reader *reader) {
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    char c = peek(reader);
    if (c == 'u') {
        reader->at++;
        return read_unicode_escape(reader);
    }
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return malformed(reader, "expected one of \" \\ / b f n r t u after a backslash");
    reader->at++;
    reader->pool[reader->used++] = to[found - from];
    return GLINT_OK;
}

static enum glint_status read_string(struct reader *reader, struct glint_view *text) {
    size_t start = reader->used;
    reader->at++; // the opening quote
    for (;;) {
        if (reader->at == reader->n)
            return malformed(reader, "the text ends inside a string");
        unsigned char c = (unsigned char)reader->data[reader->at];
        if (c == '"') {
            reader->at++;
            *text = close_text(reader, start);
            return GLINT_OK;
        }
        if (c == '\\') {
            reader->at++;
            GLINT_TRY(read_escape(reader));
        } else if (c < 0x20) {
            return malformed(reader, "a control character inside a string must be escaped");
        } else if (c < 0x80) {
            reader->pool[reader->used++] = (char)c;
            reader->at++;
        } else {
            struct glint_utf8_step step =
                glint_utf8_next(reader->data + reader->at, reader->n - reader->at);
            if (!step.valid)
                return malformed(reader, "not valid UTF-8");
            memcpy(reader->pool + reader->used, reader->data + reader->at, step.n);
            reader->used += step.n;
            reader->at += step.n;
        }
    }
}

static bool take_digits(struct reader *reader) {
    size_t start = reader->at;
    while (peek(reader) >= '0' && peek(reader) <= '9')
        reader->at++;
    return reader->at > start;
}

static enum glint_status read_number(struct reader *reader, struct glint_json *node) {
    size_t start = reader->at;
    if (peek(reader) == '-')
        reader->at++;
    size_t digits = reader->at;
    if (!take_digits(reader))
        return malformed(reader, "expected a digit");
    if (reader->data[digits] == '0' && reader->at - digits > 1)
        return malformed(reader, "a number may not start with 0");
    if (peek(reader) == '.') {
        reader->at++;
        if (!take_digits(reader))
            return malformed(reader, "expected a digit after the decimal point");
    }
    if (peek(reader) == 'e' || peek(reader) == 'E') {
        reader->at++;
        if (peek(reader) == '+' || peek(reader) == '-')
            reader->at++;
        if (!take_digits(reader))
            return malformed(reader, "expected a digit in the exponent");
    }
    size_t mark = reader->used;
    memcpy(reader->pool + mark, reader->data + start, reader->at - start);
    reader->used += reader->at - start;
    node->kind = GLINT_JSON_NUMBER;
    node->text = close_text(reader, mark);
    return GLINT_OK;
}

static enum glint_status read_word(struct reader *reader, struct glint_json *node) {
    static const struct {
        const char *text;
        enum glint_json_kind kind;
        bool truth;
    } words[] = {{"null", GLINT_JSON_NULL, false},
                 {"true", GLINT_JSON_BOOL, true},
                 {"false", GLINT_JSON_BOOL, false}};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i].text);
        if (reader->n - reader->at >= n &&
            memcmp(reader->data + reader->at, words[i].text, n) == 0) {
            reader->at += n;
            node->kind = words[i].kind;
            node->truth = words[i].truth;
            return GLINT_OK;
        }
    }
    return malformed(reader, reader->at == reader->n ? "the text ends where a value is expected"
                                                     : "expected a value");
}

// ---- keys that occur twice
// ------------------------------------------------------------------------

static int compare_views(struct glint_view a, struct glint_view b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    if (order != 0)
        return order;
    return a.n < b.n ? -1 : a.n > b.n;
}

// By key, then by place in the text (nodes are numbered in that order).
static int compare_members(const void *a, const void *b) {
    const struct glint_json *x = *(struct glint_json *const *)a;
    const struct glint_json *y = *(struct glint_json *const *)b;
    int order = compare_views(x->key, y->key);
    if (order != 0)
        return order;
    return x < y ? -1 : x > y;
}

static struct glint_json *writable(struct reader *reader, const struct glint_json *node) {
    return reader->nodes + (node - reader->nodes);
}

// Members of one key in text order, n >= 2: the first takes the last one's value, the others are
// marked for removal.
static void merge_group(struct glint_json **members, uint32_t n) {
    struct glint_json *first = members[0], last = *members[n - 1];
    last.key = first->key;
    last.next = first->next;
    *first = last;
    for (uint32_t i = 1; i < n; i++)
        members[i]->key.data = NULL;
}

static void unlink_marked(struct reader *reader, struct glint_json *object) {
    struct glint_json *kept = NULL; // the first member always is
    for (const struct glint_json *m = object->child; m; m = m->next) {
        if (m->key.data) {
            kept = writable(reader, m);
        } else {
            kept->next = m->next;
            object->n--;
        }
    }
}

// Sorting keeps this n log n however many keys a hostile object has.
static enum glint_status merge_duplicates(struct reader *reader, struct glint_json *object) {
    struct glint_json *few[32], **members = few;
    if (object->n > 32)
        members = glint_alloc(object->n, sizeof *members);
    if (!members)
        return fail(reader, GLINT_E_NOMEM, "out of memory");
    uint32_t n = 0;
    for (const struct glint_json *m = object->child; m; m = m->next)
        members[n++] = writable(reader, m);
    qsort(members, n, sizeof *members, compare_members);
    bool found = false;
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n; end++)
            if (compare_views(members[end]->key, members[i]->key) != 0)
                break;
        if (end - i > 1) {
            merge_group(members + i, end - i);
            found = true;
        }
    }
    if (members != few)
        glint_free(members);
    if (found)
        unlink_marked(reader, object);
    return GLINT_OK;
}

// ---- containers
// -----------------------------------------------------------------------------------

static enum glint_status read_value(struct reader *reader, struct glint_json *node);

static struct glint_json *new_node(struct reader *reader) {
    GLINT_ASSERT(reader->n_nodes < reader->capacity);
    return &reader->nodes[reader->n_nodes++];
}

static enum glint_status read_key(struct reader *reader, struct glint_json *member) {
    skip_space(reader);
    if (peek(reader) != '"')
        return malformed(reader, "expected a key in double quotes");
    GLINT_TRY(read_string(reader, &member->key));
    skip_space(reader);
    if (peek(reader) != ':')
        return malformed(reader, "expected a colon after a key");
    reader->at++;
    return GLINT_OK;
}

static enum glint_status read_container(struct reader *reader, struct glint_json *node) {
    bool object = peek(reader) == '{';
    char closing = object ? '}' : ']';
    node->kind = object ? GLINT_JSON_OBJECT : GLINT_JSON_ARRAY;
    if (reader->depth == reader->max_depth)
        return fail(reader, GLINT_E_LIMIT, "nested too deeply");
    reader->depth++;
    reader->at++;
    skip_space(reader);
    struct glint_json *last = NULL;
    bool more = peek(reader) != closing;
    if (!more)
        reader->at++;
    while (more) {
        struct glint_json *member = new_node(reader);
        if (object)
            GLINT_TRY(read_key(reader, member));
        GLINT_TRY(read_value(reader, member));
        if (last)
            last->next = member;
        else
            node->child = member;
        last = member;
        node->n++;
        skip_space(reader);
        char c = peek(reader);
        if (c != ',' && c != closing)
            return malformed(reader, object ? "expected , or } after a member"
                                            : "expected , or ] after an item");
        reader->at++;
        more = c == ',';
    }
    reader->depth--;
    return object ? merge_duplicates(reader, node) : GLINT_OK;
}

static enum glint_status read_value(struct reader *reader, struct glint_json *node) {
    skip_space(reader);
    char c = peek(reader);
    if (c == '{' || c == '[')
        return read_container(reader, node);
    if (c == '"') {
        node->kind = GLINT_JSON_STRING;
        return read_string(reader, &node->text);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(reader, node);
    return read_word(reader, node);
}

// An upper bound on the values: commas and openings inside strings only make it larger.
static uint64_t count_values(struct glint_view text) {
    uint64_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.data[i] == ',' || text.data[i] == '[' || text.data[i] == '{';
    return n;
}

// ---- documents
// --------------------------------------------------------------------------------------

enum glint_status glint_json_parse(struct glint_json_doc **doc, struct glint_view text,
                                   const struct glint_json_options *options,
                                   struct glint_error *err) {
    *doc = NULL;
    struct reader reader = {.data = text.data, .n = text.n, .err = err};
    reader.name = options && options->name ? options->name : "JSON";
    reader.repair = options && options->repair_surrogates;
    reader.max_depth = options && options->max_depth ? options->max_depth : GLINT_JSON_MAX_DEPTH;
    GLINT_REQUIRE(reader.max_depth <= GLINT_JSON_MAX_DEPTH, err);
    if (text.n >= UINT32_MAX / 2)
        return glint_fail(err, GLINT_E_LIMIT, "%s: found %zu bytes, expected fewer than 2 GiB",
                          reader.name, text.n);
    reader.capacity = (uint32_t)count_values(text);
    size_t nodes_at = sizeof(struct glint_json_doc);
    size_t pool_at = nodes_at + reader.capacity * sizeof(struct glint_json);
    char *block = glint_alloc(pool_at + text.n + 1, 1);
    if (!block)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", reader.name);
    struct glint_json_doc *made = (struct glint_json_doc *)(void *)block;
    made->nodes = reader.nodes = (struct glint_json *)(void *)(block + nodes_at);
    made->pool = reader.pool = block + pool_at;
    enum glint_status status = read_value(&reader, new_node(&reader));
    if (status == GLINT_OK) {
        skip_space(&reader);
        if (reader.at < reader.n)
            status = malformed(&reader, "expected nothing more after the value");
    }
    if (status != GLINT_OK) {
        glint_free(block);
        return status;
    }
    *doc = made;
    return GLINT_OK;
}

enum glint_status glint_json_load(struct glint_json_doc **doc, const char *path, size_t max_bytes,
                                  struct glint_error *err) {
    *doc = NULL;
    struct glint_mapped_file *file;
    GLINT_TRY(glint_mapped_file_open(&file, path, err));
    enum glint_status status;
    if (file->n > max_bytes) {
        status = glint_fail(err, GLINT_E_LIMIT, "%s: found %llu bytes, expected at most %zu", path,
                            (unsigned long long)file->n, max_bytes);
    } else {
        struct glint_view text = {(const char *)file->data, (size_t)file->n};
        const struct glint_json_options options = {.name = path};
        status = glint_json_parse(doc, text, &options, err);
    }
    glint_mapped_file_close(&file);
    return status;
}

void glint_json_close(struct glint_json_doc **doc) {
    glint_free(*doc);
    *doc = NULL;
}

const struct glint_json *glint_json_root(const struct glint_json_doc *doc) {
    return doc->nodes;
}
