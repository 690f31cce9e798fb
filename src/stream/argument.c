// SPDX-License-Identifier: Apache-2.0
// argument.c — see argument.h. Schemas are untrusted: references are followed to a fixed depth,
// and all branches of one schema together to a fixed number.
#include "stream/argument.h"

#include "base/utf8.h"
#include "format/json_write.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_VISITS = 1000 };

struct walk {
    const struct glint_json *root;
    unsigned n_visits;
};

static unsigned types_of(struct walk *walk, const struct glint_json *schema, unsigned depth);

static unsigned type_named(const struct glint_json *name) {
    static const struct {
        const char *name;
        unsigned type;
    } types[] = {
        {"null", GLINT_TYPE_NULL},       {"boolean", GLINT_TYPE_BOOLEAN},
        {"integer", GLINT_TYPE_INTEGER}, {"number", GLINT_TYPE_NUMBER | GLINT_TYPE_INTEGER},
        {"string", GLINT_TYPE_STRING},   {"array", GLINT_TYPE_ARRAY},
        {"object", GLINT_TYPE_OBJECT},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (glint_json_is_text(name, types[i].name))
            return types[i].type;
    }
    return 0;
}

// A number spelled with a point or exponent whose value is a whole number.
static bool is_integral(const struct glint_json *number) {
    double value = 0;
    return glint_json_is_int(number) ||
           (glint_json_to_double(number, &value) && isfinite(value) && value == floor(value));
}

static unsigned type_of_value(const struct glint_json *value) {
    switch (value->kind) {
    case GLINT_JSON_NULL:
        return GLINT_TYPE_NULL;
    case GLINT_JSON_BOOL:
        return GLINT_TYPE_BOOLEAN;
    case GLINT_JSON_NUMBER:
        return is_integral(value) ? GLINT_TYPE_INTEGER : GLINT_TYPE_NUMBER;
    case GLINT_JSON_STRING:
        return GLINT_TYPE_STRING;
    case GLINT_JSON_ARRAY:
        return GLINT_TYPE_ARRAY;
    case GLINT_JSON_OBJECT:
        return GLINT_TYPE_OBJECT;
    }
    return 0;
}

// One step of a JSON pointer, "~0" and "~1" decoded; NULL when it leads nowhere.
static const struct glint_json *pointer_step(const struct glint_json *at, struct glint_view name) {
    char key[256];
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.data[i];
        if (n == sizeof key)
            return NULL;
        if (c == '~' && i + 1 < name.n) {
            i++;
            c = name.data[i] == '1' ? '/' : '~';
        }
        key[n++] = c;
    }
    return glint_json_get_view(at, (struct glint_view){.data = key, .n = n});
}

// The schema a local reference names: "#" or "#/a/b".
static const struct glint_json *follow(const struct glint_json *root, struct glint_view ref) {
    const struct glint_json *at = root;
    if (ref.n == 0 || ref.data[0] != '#' || (ref.n > 1 && ref.data[1] != '/'))
        return NULL;
    size_t begin = 2;
    while (begin <= ref.n && ref.n > 1 && at) {
        size_t end = begin;
        while (end < ref.n && ref.data[end] != '/')
            end++;
        at = pointer_step(at, (struct glint_view){.data = ref.data + begin, .n = end - begin});
        begin = end + 1;
    }
    return at;
}

// The schema itself, or what its references lead to.
static const struct glint_json *resolve(const struct glint_json *schema,
                                        const struct glint_json *root) {
    struct glint_view ref;
    for (unsigned i = 0; i < MAX_DEPTH && schema; i++) {
        if (!glint_json_to_string(glint_json_get(schema, "$ref"), &ref))
            return schema;
        schema = follow(root, ref);
    }
    return NULL;
}

static unsigned union_of(struct walk *walk, const struct glint_json *branches, unsigned depth) {
    unsigned types = 0;
    for (const struct glint_json *m = glint_json_first(branches); m; m = m->next) {
        unsigned branch = types_of(walk, m, depth + 1);
        if (branch == 0) // one branch without information allows anything
            return 0;
        types |= branch;
    }
    return types;
}

static unsigned intersection_of(struct walk *walk, const struct glint_json *branches,
                                unsigned depth) {
    unsigned types = GLINT_TYPE_ANY;
    for (const struct glint_json *m = glint_json_first(branches); m; m = m->next) {
        unsigned branch = types_of(walk, m, depth + 1);
        types &= branch ? branch : (unsigned)GLINT_TYPE_ANY;
    }
    return types == GLINT_TYPE_ANY ? 0 : types;
}

static unsigned listed_types(const struct glint_json *schema) {
    const struct glint_json *constant = glint_json_get(schema, "const");
    const struct glint_json *listed = glint_json_get(schema, "enum");
    unsigned types = constant ? type_of_value(constant) : 0;
    for (const struct glint_json *m = constant ? NULL : glint_json_first(listed); m; m = m->next)
        types |= type_of_value(m);
    return types;
}

static unsigned declared_types(const struct glint_json *schema) {
    const struct glint_json *type = glint_json_get(schema, "type");
    unsigned types = type_named(type);
    if (glint_json_is(type, GLINT_JSON_ARRAY)) {
        for (const struct glint_json *m = glint_json_first(type); m; m = m->next)
            types |= type_named(m);
    }
    return types;
}

static unsigned types_of(struct walk *walk, const struct glint_json *schema, unsigned depth) {
    schema = resolve(schema, walk->root);
    if (!glint_json_is(schema, GLINT_JSON_OBJECT) || depth == MAX_DEPTH ||
        walk->n_visits++ >= MAX_VISITS)
        return 0;
    unsigned types = listed_types(schema);
    if (types == 0)
        types = declared_types(schema);
    if (types == 0 && glint_json_get(schema, "anyOf"))
        types = union_of(walk, glint_json_get(schema, "anyOf"), depth);
    else if (types == 0 && glint_json_get(schema, "oneOf"))
        types = union_of(walk, glint_json_get(schema, "oneOf"), depth);
    else if (types == 0 && glint_json_get(schema, "allOf"))
        types = intersection_of(walk, glint_json_get(schema, "allOf"), depth);
    if (types == 0 &&
        (glint_json_get(schema, "properties") || glint_json_get(schema, "additionalProperties")))
        types = GLINT_TYPE_OBJECT;
    if (types == 0 && glint_json_get(schema, "items"))
        types = GLINT_TYPE_ARRAY;
    bool nullable = false;
    if (types != 0 && glint_json_to_bool(glint_json_get(schema, "nullable"), &nullable) && nullable)
        types |= GLINT_TYPE_NULL;
    return types;
}

unsigned glint_schema_types(const struct glint_json *schema, const struct glint_json *root) {
    struct walk walk = {.root = root};
    return types_of(&walk, schema, 0);
}

void glint_argument_put_string(struct glint_buffer *out, struct glint_view text) {
    if (glint_utf8_is_valid(text.data, text.n)) {
        glint_json_put_string(out, text);
        return;
    }
    struct glint_buffer repaired = {.data = NULL};
    glint_utf8_repair(&repaired, text.data, text.n);
    out->failed = out->failed || repaired.failed;
    glint_json_put_string(out, (struct glint_view){.data = repaired.data, .n = repaired.n});
    glint_buffer_fini(&repaired);
}

static bool is_listed_string(const struct glint_json *schema, struct glint_view text) {
    const struct glint_json *constant = glint_json_get(schema, "const");
    if (glint_json_is(constant, GLINT_JSON_STRING) && glint_view_equal(constant->text, text))
        return true;
    const struct glint_json *m = glint_json_first(glint_json_get(schema, "enum"));
    while (m && !(m->kind == GLINT_JSON_STRING && glint_view_equal(m->text, text)))
        m = m->next;
    return m != NULL;
}

// "True", "None" and the like as JSON where that type is allowed; NULL otherwise.
static const char *python_word(struct glint_view text, unsigned types) {
    bool boolean = (types & GLINT_TYPE_BOOLEAN) != 0;
    bool null = (types & GLINT_TYPE_NULL) != 0;
    if (boolean && (glint_view_is(text, "True") || glint_view_is(text, "TRUE")))
        return "true";
    if (boolean && (glint_view_is(text, "False") || glint_view_is(text, "FALSE")))
        return "false";
    if (null &&
        (glint_view_is(text, "None") || glint_view_is(text, "NULL") || glint_view_is(text, "Null")))
        return "null";
    return NULL;
}

// A value as JSON text, numbers spelled as they came.
static void put_value(struct glint_buffer *out, const struct glint_json *value) {
    bool object = value->kind == GLINT_JSON_OBJECT;
    if (value->kind == GLINT_JSON_NUMBER) {
        glint_buffer_append(out, value->text.data, value->text.n);
        return;
    }
    if (!object && value->kind != GLINT_JSON_ARRAY) {
        glint_json_put_value(out, value, GLINT_JSON_PYTHON);
        return;
    }
    glint_buffer_append_char(out, object ? '{' : '[');
    for (const struct glint_json *m = glint_json_first(value); m; m = m->next) {
        if (m != glint_json_first(value))
            glint_buffer_append_text(out, ", ");
        if (object) {
            glint_json_put_string(out, m->key);
            glint_buffer_append_text(out, ": ");
        }
        put_value(out, m);
    }
    glint_buffer_append_char(out, object ? '}' : ']');
}

// The JSON value of a text; *doc is NULL when it has none.
static const struct glint_json *parse(struct glint_view text, struct glint_json_doc **doc) {
    struct glint_json_options options = {.repair_surrogates = true};
    if (glint_json_parse(doc, text, &options, NULL) != GLINT_OK)
        return NULL;
    return glint_json_root(*doc);
}

void glint_argument_put(struct glint_buffer *out, struct glint_view text,
                        const struct glint_json *schema, const struct glint_json *root) {
    unsigned types = glint_schema_types(schema, root);
    schema = resolve(schema, root);
    if (types == GLINT_TYPE_STRING || (types != 0 && is_listed_string(schema, text))) {
        glint_argument_put_string(out, text);
        return;
    }
    struct glint_json_doc *doc = NULL;
    const struct glint_json *value = parse(text, &doc);
    unsigned type = value ? type_of_value(value) : 0;
    bool fits = value && (types == 0 || ((types & type) != 0 && type != GLINT_TYPE_STRING));
    const char *word = python_word(text, types);
    if (fits)
        put_value(out, value);
    else if (types != 0 && (types & GLINT_TYPE_STRING) != 0)
        glint_argument_put_string(out, text);
    else if (word)
        glint_buffer_append_text(out, word);
    else if (value)
        put_value(out, value);
    else
        glint_argument_put_string(out, text);
    glint_json_close(&doc);
}

bool glint_argument_put_object(struct glint_buffer *out, struct glint_view text) {
    struct glint_json_doc *doc = NULL;
    const struct glint_json *value = parse(text, &doc);
    bool is_object = glint_json_is(value, GLINT_JSON_OBJECT);
    if (is_object)
        put_value(out, value);
    glint_json_close(&doc);
    return is_object;
}
