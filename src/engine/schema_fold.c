// SPDX-License-Identifier: Apache-2.0
// schema_fold.c — the keywords of a shape's parts, read into its fields.
#include "engine/schema_shape.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "sample/grammar.h"
#include "sample/regex.h"

#include <string.h>

static enum glint_status refuse(const struct glint_shape *shape, const struct glint_json *at,
                                struct glint_error *err, enum glint_status status,
                                const char *what) {
    return glint_schema_fail(shape->document, at, err, status, what);
}

// ---- types and lists --------------------------------------------------------------------------

static unsigned type_named(const struct glint_json *name) {
    static const struct {
        const char *name;
        unsigned types;
    } types[] = {
        {"null", GLINT_TYPE_NULL},       {"boolean", GLINT_TYPE_BOOLEAN},
        {"integer", GLINT_TYPE_INTEGER}, {"number", GLINT_TYPE_NUMBER | GLINT_TYPE_INTEGER},
        {"string", GLINT_TYPE_STRING},   {"array", GLINT_TYPE_ARRAY},
        {"object", GLINT_TYPE_OBJECT},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (glint_json_is_text(name, types[i].name))
            return types[i].types;
    return 0;
}

static unsigned type_of(const struct glint_json *value) {
    static const unsigned types[] = {
        [GLINT_JSON_NULL] = GLINT_TYPE_NULL,     [GLINT_JSON_BOOL] = GLINT_TYPE_BOOLEAN,
        [GLINT_JSON_STRING] = GLINT_TYPE_STRING, [GLINT_JSON_ARRAY] = GLINT_TYPE_ARRAY,
        [GLINT_JSON_OBJECT] = GLINT_TYPE_OBJECT,
    };
    struct glint_decimal decimal;
    if (value->kind != GLINT_JSON_NUMBER)
        return types[value->kind];
    bool whole = glint_decimal_read(value->text, &decimal) && glint_decimal_is_whole(&decimal);
    return whole ? GLINT_TYPE_INTEGER : GLINT_TYPE_NUMBER;
}

static enum glint_status fold_type(struct glint_shape *shape, const struct glint_json *value,
                                   struct glint_error *err) {
    unsigned types = type_named(value);
    if (value->kind == GLINT_JSON_ARRAY) {
        for (const struct glint_json *m = glint_json_first(value); m; m = m->next) {
            if (type_named(m) == 0)
                return refuse(shape, m, err, GLINT_E_ARG, "no type of JSON Schema");
            types |= type_named(m);
        }
    }
    if (types == 0)
        return refuse(shape, value, err, GLINT_E_ARG,
                      "expected null, boolean, integer, number, string, array or object");
    shape->types &= types;
    return GLINT_OK;
}

static bool is_listed(const struct glint_json *list, const struct glint_json *value) {
    for (const struct glint_json *m = glint_json_first(list); m; m = m->next)
        if (glint_json_equal(m, value))
            return true;
    return false;
}

// The values so far that are also among [first ...]; all of those when there are none so far.
static enum glint_status fold_list(struct glint_shape *shape, const struct glint_json *first,
                                   uint32_t n_list, struct glint_error *err) {
    uint32_t n = 0;
    if (!shape->listed) {
        shape->values = glint_alloc(n_list, sizeof *shape->values);
        if (!shape->values)
            return glint_fail(err, GLINT_E_NOMEM, "schema: no memory");
        for (uint32_t i = 0; i < n_list; i++, first = first->next)
            shape->values[n++] = first;
    } else {
        struct glint_json list = {.kind = GLINT_JSON_ARRAY, .n = n_list, .child = first};
        struct glint_json single = *first; // of const: its siblings are other keywords
        single.next = NULL;
        if (n_list == 1)
            list.child = &single;
        for (uint32_t i = 0; i < shape->n_values; i++)
            if (is_listed(&list, shape->values[i]))
                shape->values[n++] = shape->values[i];
    }
    shape->listed = true;
    shape->n_values = n;
    return GLINT_OK;
}

static enum glint_status fold_enum(struct glint_shape *shape, const struct glint_json *value,
                                   struct glint_error *err) {
    if (value->kind != GLINT_JSON_ARRAY || value->n == 0)
        return refuse(shape, value, err, GLINT_E_ARG, "expected an array of at least one value");
    return fold_list(shape, glint_json_first(value), value->n, err);
}

static enum glint_status fold_const(struct glint_shape *shape, const struct glint_json *value,
                                    struct glint_error *err) {
    return fold_list(shape, value, 1, err);
}

// ---- numbers ----------------------------------------------------------------------------------

static enum glint_status read_decimal(struct glint_shape *shape, const struct glint_json *value,
                                      struct glint_decimal *out, struct glint_error *err) {
    if (value->kind != GLINT_JSON_NUMBER)
        return refuse(shape, value, err, GLINT_E_ARG, "expected a number");
    if (!glint_decimal_read(value->text, out))
        return refuse(shape, value, err, GLINT_E_LIMIT, "a number of more than 60 digits");
    return GLINT_OK;
}

static void narrow_low(struct glint_number_rule *rule, const struct glint_decimal *low, bool open) {
    int order = rule->has_low ? glint_decimal_compare(low, &rule->low) : 1;
    if (order > 0) {
        rule->low = *low;
        rule->low_open = open;
    } else if (order == 0) {
        rule->low_open = rule->low_open || open;
    }
    rule->has_low = true;
}

static void narrow_high(struct glint_number_rule *rule, const struct glint_decimal *high,
                        bool open) {
    int order = rule->has_high ? glint_decimal_compare(high, &rule->high) : -1;
    if (order < 0) {
        rule->high = *high;
        rule->high_open = open;
    } else if (order == 0) {
        rule->high_open = rule->high_open || open;
    }
    rule->has_high = true;
}

static enum glint_status fold_minimum(struct glint_shape *shape, const struct glint_json *value,
                                      struct glint_error *err) {
    struct glint_decimal low;
    GLINT_TRY(read_decimal(shape, value, &low, err));
    narrow_low(&shape->number, &low, false);
    return GLINT_OK;
}

static enum glint_status fold_maximum(struct glint_shape *shape, const struct glint_json *value,
                                      struct glint_error *err) {
    struct glint_decimal high;
    GLINT_TRY(read_decimal(shape, value, &high, err));
    narrow_high(&shape->number, &high, false);
    return GLINT_OK;
}

static enum glint_status fold_above(struct glint_shape *shape, const struct glint_json *value,
                                    struct glint_error *err) {
    struct glint_decimal low;
    GLINT_TRY(read_decimal(shape, value, &low, err));
    narrow_low(&shape->number, &low, true);
    return GLINT_OK;
}

static enum glint_status fold_below(struct glint_shape *shape, const struct glint_json *value,
                                    struct glint_error *err) {
    struct glint_decimal high;
    GLINT_TRY(read_decimal(shape, value, &high, err));
    narrow_high(&shape->number, &high, true);
    return GLINT_OK;
}

static enum glint_status fold_multiple(struct glint_shape *shape, const struct glint_json *value,
                                       struct glint_error *err) {
    struct glint_decimal multiple;
    struct glint_number_rule rule = {.multiple = 0};
    GLINT_TRY(read_decimal(shape, value, &multiple, err));
    if (multiple.negative || glint_decimal_is_zero(&multiple))
        return refuse(shape, value, err, GLINT_E_ARG, "expected a number above 0");
    bool fits = glint_number_set_multiple(&rule, &multiple);
    bool same = rule.multiple == shape->number.multiple &&
                rule.multiple_places == shape->number.multiple_places;
    if (!fits || (shape->number.multiple != 0 && !same))
        return refuse(shape, value, err, GLINT_E_UNSUPPORTED,
                      "cannot be enforced: several multiples, or one of more than 5 digits");
    shape->number.multiple = rule.multiple;
    shape->number.multiple_places = rule.multiple_places;
    return GLINT_OK;
}

// ---- counts -----------------------------------------------------------------------------------

static enum glint_status read_count(struct glint_shape *shape, const struct glint_json *value,
                                    uint32_t *out, struct glint_error *err) {
    uint64_t count;
    if (!glint_json_to_u64(value, &count))
        return refuse(shape, value, err, GLINT_E_ARG, "expected a whole number, 0 or more");
    *out = count < GLINT_NO_LIMIT ? (uint32_t)count : GLINT_NO_LIMIT;
    return GLINT_OK;
}

static enum glint_status fold_least(struct glint_shape *shape, const struct glint_json *value,
                                    uint32_t *least, struct glint_error *err) {
    uint32_t count = 0;
    GLINT_TRY(read_count(shape, value, &count, err));
    if (count == GLINT_NO_LIMIT)
        return refuse(shape, value, err, GLINT_E_LIMIT, "a minimum of more than 4,000,000,000");
    *least = count > *least ? count : *least;
    return GLINT_OK;
}

static enum glint_status fold_most(struct glint_shape *shape, const struct glint_json *value,
                                   uint32_t *most, struct glint_error *err) {
    uint32_t count = 0;
    GLINT_TRY(read_count(shape, value, &count, err));
    *most = count < *most ? count : *most;
    return GLINT_OK;
}

static enum glint_status fold_pattern(struct glint_shape *shape, const struct glint_json *value,
                                      struct glint_error *err) {
    if (value->kind != GLINT_JSON_STRING)
        return refuse(shape, value, err, GLINT_E_ARG, "expected a string");
    for (unsigned i = 0; i < shape->n_patterns; i++)
        if (glint_view_equal(shape->patterns[i]->text, value->text))
            return GLINT_OK;
    if (shape->n_patterns == 2)
        return refuse(shape, value, err, GLINT_E_UNSUPPORTED,
                      "cannot be enforced: more than two patterns for one string");
    shape->patterns[shape->n_patterns++] = value;
    return GLINT_OK;
}

static enum glint_status fold_prefix(struct glint_shape *shape, const struct glint_json *value,
                                     struct glint_error *err) {
    if (value->kind != GLINT_JSON_ARRAY)
        return refuse(shape, value, err, GLINT_E_ARG, "expected an array of schemas");
    shape->n_prefix = value->n > shape->n_prefix ? value->n : shape->n_prefix;
    return GLINT_OK;
}

static enum glint_status fold_items(struct glint_shape *shape, const struct glint_json *value,
                                    struct glint_error *err) {
    // Before draft 2020 an array here was what prefixItems is now.
    return value->kind == GLINT_JSON_ARRAY ? fold_prefix(shape, value, err) : GLINT_OK;
}

static enum glint_status fold_unique(struct glint_shape *shape, const struct glint_json *value,
                                     struct glint_error *err) {
    if (value->kind != GLINT_JSON_BOOL)
        return refuse(shape, value, err, GLINT_E_ARG, "expected true or false");
    shape->unique_items = shape->unique_items || value->truth;
    return GLINT_OK;
}

static const struct {
    const char *name;
    enum glint_status (*fold)(struct glint_shape *shape, const struct glint_json *value,
                              struct glint_error *err);
} keywords[] = {
    {"type", fold_type},
    {"enum", fold_enum},
    {"const", fold_const},
    {"minimum", fold_minimum},
    {"maximum", fold_maximum},
    {"exclusiveMinimum", fold_above},
    {"exclusiveMaximum", fold_below},
    {"multipleOf", fold_multiple},
    {"pattern", fold_pattern},
    {"prefixItems", fold_prefix},
    {"items", fold_items},
    {"uniqueItems", fold_unique},
};

// Keywords that count, and those that nothing here can hold a value to.
static enum glint_status fold_keyword(struct glint_shape *shape, const struct glint_json *value,
                                      struct glint_error *err) {
    const struct {
        const char *name;
        uint32_t *least, *most;
    } counts[] = {
        {"minLength", &shape->least_chars, NULL},
        {"maxLength", NULL, &shape->most_chars},
        {"minItems", &shape->least_items, NULL},
        {"maxItems", NULL, &shape->most_items},
        {"minProperties", &shape->least_members, NULL},
        {"maxProperties", NULL, &shape->most_members},
    };
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (glint_view_is(value->key, keywords[i].name))
            return keywords[i].fold(shape, value, err);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (!glint_view_is(value->key, counts[i].name))
            continue;
        return counts[i].least ? fold_least(shape, value, counts[i].least, err)
                               : fold_most(shape, value, counts[i].most, err);
    }
    return GLINT_OK;
}

static enum glint_status check_refused(const struct glint_shape *shape, struct glint_error *err) {
    static const struct {
        const char *name;
        unsigned types; // that it speaks of
    } refused[] = {
        {"contains", GLINT_TYPE_ARRAY},          {"unevaluatedItems", GLINT_TYPE_ARRAY},
        {"propertyNames", GLINT_TYPE_OBJECT},    {"dependentRequired", GLINT_TYPE_OBJECT},
        {"dependentSchemas", GLINT_TYPE_OBJECT}, {"dependencies", GLINT_TYPE_OBJECT},
        {"$dynamicRef", GLINT_TYPE_ANY},         {"$recursiveRef", GLINT_TYPE_ANY},
    };
    for (uint32_t i = 0; i < shape->n_parts; i++)
        for (size_t j = 0; j < sizeof refused / sizeof *refused; j++) {
            const struct glint_json *value = glint_json_get(shape->parts[i], refused[j].name);
            if (value && shape->types & refused[j].types)
                return refuse(shape, value, err, GLINT_E_UNSUPPORTED, "cannot be enforced");
        }
    return GLINT_OK;
}

// ---- members ----------------------------------------------------------------------------------

static struct glint_shape_member *find_member(const struct glint_shape *shape,
                                              struct glint_view name) {
    for (uint32_t i = 0; i < shape->n_members; i++)
        if (glint_view_equal(shape->members[i].name, name))
            return &shape->members[i];
    return NULL;
}

static enum glint_status add_member(struct glint_shape *shape, struct glint_view name,
                                    bool required, struct glint_error *err) {
    struct glint_shape_member *member = find_member(shape, name);
    *shape->document->n_steps += 1;
    if (!member && shape->n_members == GLINT_GRAMMAR_MAX_MEMBERS)
        return refuse(shape, shape->parts[0], err, GLINT_E_LIMIT, "more than 500 properties");
    if (!member) {
        struct glint_shape_member *grown =
            glint_realloc(shape->members, shape->n_members + 1u, sizeof *grown);
        if (!grown)
            return glint_fail(err, GLINT_E_NOMEM, "schema: no memory");
        shape->members = grown;
        member = &grown[shape->n_members++];
        *member = (struct glint_shape_member){.name = name};
    }
    member->required = member->required || required;
    return GLINT_OK;
}

static enum glint_status fold_required(struct glint_shape *shape, const struct glint_json *part,
                                       struct glint_error *err) {
    const struct glint_json *required = glint_json_get(part, "required");
    if (!required)
        return GLINT_OK;
    if (required->kind != GLINT_JSON_ARRAY)
        return refuse(shape, required, err, GLINT_E_ARG, "expected an array of strings");
    for (const struct glint_json *m = glint_json_first(required); m; m = m->next) {
        if (m->kind != GLINT_JSON_STRING)
            return refuse(shape, m, err, GLINT_E_ARG, "expected a string");
        GLINT_TRY(add_member(shape, m->text, true, err));
    }
    return GLINT_OK;
}

static enum glint_status fold_members(struct glint_shape *shape, struct glint_error *err) {
    bool named = false, open = false, closed = false, patterned = false;
    for (uint32_t i = 0; i < shape->n_parts; i++) {
        const struct glint_json *part = shape->parts[i];
        const struct glint_json *properties = glint_json_get(part, "properties");
        const struct glint_json *other = glint_json_get(part, "additionalProperties");
        const struct glint_json *rest = glint_json_get(part, "unevaluatedProperties");
        if (properties && properties->kind != GLINT_JSON_OBJECT)
            return refuse(shape, properties, err, GLINT_E_ARG, "expected an object of schemas");
        for (const struct glint_json *m = glint_json_first(properties); m; m = m->next)
            GLINT_TRY(add_member(shape, m->key, false, err));
        if (rest && rest->kind != GLINT_JSON_BOOL && shape->types & GLINT_TYPE_OBJECT)
            return refuse(shape, rest, err, GLINT_E_UNSUPPORTED, "cannot be enforced");
        named = named || properties;
        open = open || (other && !(other->kind == GLINT_JSON_BOOL && !other->truth));
        closed = closed || (other && other->kind == GLINT_JSON_BOOL && !other->truth) ||
                 (rest && !rest->truth);
        patterned = patterned || glint_json_get(part, "patternProperties");
    }
    for (uint32_t i = 0; i < shape->n_parts; i++)
        GLINT_TRY(fold_required(shape, shape->parts[i], err));
    // An object that lists its properties and does not say that it takes others gets none.
    shape->other_members = !closed && !patterned && (open || !named);
    for (uint32_t i = 0; patterned && shape->n_members == 0 && i < shape->n_parts; i++) {
        const struct glint_json *patterns = glint_json_get(shape->parts[i], "patternProperties");
        if (patterns && shape->types & GLINT_TYPE_OBJECT)
            return refuse(shape, patterns, err, GLINT_E_UNSUPPORTED,
                          "cannot be enforced without properties");
    }
    return GLINT_OK;
}

// Keys that are not listed may come twice, which makes one member.
static enum glint_status check_members(struct glint_shape *shape, struct glint_error *err) {
    uint32_t n_required = 0;
    for (uint32_t i = 0; i < shape->n_members; i++)
        n_required += shape->members[i].required;
    if (shape->least_members > shape->most_members || n_required > shape->most_members)
        shape->types &= ~(unsigned)GLINT_TYPE_OBJECT;
    if (!(shape->types & GLINT_TYPE_OBJECT) || !shape->other_members ||
        shape->least_members <= n_required || shape->least_members <= 1)
        return GLINT_OK;
    for (uint32_t i = 0; shape->n_members < shape->least_members && i < shape->n_parts; i++) {
        const struct glint_json *least = glint_json_get(shape->parts[i], "minProperties");
        if (least)
            return refuse(shape, least, err, GLINT_E_UNSUPPORTED,
                          "cannot be enforced for properties without names");
    }
    shape->other_members = false;
    return GLINT_OK;
}

// ---- values -----------------------------------------------------------------------------------

static enum glint_status match(const struct glint_shape *shape, const struct glint_json *pattern,
                               struct glint_view pattern_text, struct glint_view text,
                               bool *matches, struct glint_error *err) {
    struct glint_nfa nfa;
    struct glint_error why = {.status = GLINT_OK};
    if (glint_nfa_open(&nfa, pattern_text, GLINT_SPELL_RAW, &why) != GLINT_OK)
        return refuse(shape, pattern, err, why.status, why.text);
    uint32_t set = glint_nfa_start(&nfa);
    for (size_t i = 0; i < text.n && set != UINT32_MAX; i++)
        set = glint_nfa_step(&nfa, set, (uint8_t)text.data[i]);
    *matches = set != UINT32_MAX && glint_nfa_accepts(&nfa, set);
    bool failed = nfa.failed;
    glint_nfa_fini(&nfa);
    return failed ? glint_fail(err, GLINT_E_NOMEM, "schema: no memory") : GLINT_OK;
}

static uint32_t count_chars(struct glint_view text) {
    uint32_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((uint8_t)text.data[i] & 0xc0) != 0x80;
    return n;
}

static bool number_fits(const struct glint_number_rule *rule, const struct glint_json *value) {
    struct glint_decimal decimal;
    if (!glint_decimal_read(value->text, &decimal))
        return false;
    int low = rule->has_low ? glint_decimal_compare(&decimal, &rule->low) : 1;
    int high = rule->has_high ? glint_decimal_compare(&decimal, &rule->high) : -1;
    return low >= (rule->low_open ? 1 : 0) && high <= (rule->high_open ? -1 : 0);
}

static bool has_twins(const struct glint_json *array) {
    for (const struct glint_json *a = glint_json_first(array); a; a = a->next)
        for (const struct glint_json *b = a->next; b; b = b->next)
            if (glint_json_equal(a, b))
                return true;
    return false;
}

static bool counts_fit(const struct glint_shape *shape, const struct glint_json *value) {
    if (value->kind == GLINT_JSON_OBJECT)
        return value->n >= shape->least_members && value->n <= shape->most_members;
    return value->n >= shape->least_items && value->n <= shape->most_items &&
           !(shape->unique_items && has_twins(value));
}

enum glint_status glint_shape_takes(const struct glint_shape *shape, const struct glint_json *value,
                                    bool *fits, struct glint_error *err) {
    static const char *const structural[] = {"properties",
                                             "required",
                                             "items",
                                             "prefixItems",
                                             "additionalProperties",
                                             "patternProperties",
                                             "unevaluatedProperties"};
    *fits = (shape->types & type_of(value)) != 0;
    if (!*fits)
        return GLINT_OK;
    if (value->kind == GLINT_JSON_NUMBER) {
        *fits = number_fits(&shape->number, value);
        if (shape->number.multiple != 0)
            return refuse(shape, value, err, GLINT_E_UNSUPPORTED,
                          "cannot be enforced together with multipleOf");
    }
    if (value->kind == GLINT_JSON_STRING) {
        uint32_t n = count_chars(value->text);
        *fits = n >= shape->least_chars && n <= shape->most_chars;
        for (unsigned i = 0; *fits && i < shape->n_patterns; i++)
            GLINT_TRY(
                match(shape, shape->patterns[i], shape->patterns[i]->text, value->text, fits, err));
    }
    if (value->kind != GLINT_JSON_ARRAY && value->kind != GLINT_JSON_OBJECT)
        return GLINT_OK;
    *fits = counts_fit(shape, value);
    for (uint32_t i = 0; i < shape->n_parts; i++)
        for (size_t j = 0; j < sizeof structural / sizeof *structural; j++)
            if (glint_json_get(shape->parts[i], structural[j]))
                return refuse(shape, value, err, GLINT_E_UNSUPPORTED,
                              "cannot be enforced together with keywords about members");
    return GLINT_OK;
}

static enum glint_status fold_values(struct glint_shape *shape, struct glint_error *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < shape->n_values; i++) {
        bool fits;
        GLINT_TRY(glint_shape_takes(shape, shape->values[i], &fits, err));
        for (uint32_t j = 0; fits && j < n; j++)
            fits = !glint_json_equal(shape->values[i], shape->values[j]);
        if (fits)
            shape->values[n++] = shape->values[i];
    }
    shape->n_values = n;
    return GLINT_OK;
}

enum glint_status glint_shape_fold(struct glint_shape *shape, bool *possible,
                                   struct glint_error *err) {
    shape->types = GLINT_TYPE_ANY;
    shape->most_chars = shape->most_items = shape->most_members = GLINT_NO_LIMIT;
    for (uint32_t i = 0; i < shape->n_parts; i++)
        for (const struct glint_json *m = glint_json_first(shape->parts[i]); m; m = m->next)
            GLINT_TRY(fold_keyword(shape, m, err));
    if (shape->least_chars > shape->most_chars)
        shape->types &= ~(unsigned)GLINT_TYPE_STRING;
    if (shape->least_items > shape->most_items)
        shape->types &= ~(unsigned)GLINT_TYPE_ARRAY;
    GLINT_TRY(check_refused(shape, err));
    GLINT_TRY(fold_members(shape, err));
    GLINT_TRY(check_members(shape, err));
    if (shape->listed)
        GLINT_TRY(fold_values(shape, err));
    *possible = shape->types != 0 && !(shape->listed && shape->n_values == 0);
    return GLINT_OK;
}

// ---- what members and items are made of -------------------------------------------------------

static enum glint_status add_patterned(const struct glint_shape *shape,
                                       const struct glint_json *patterns, struct glint_view name,
                                       bool *matched, struct glint_schema_set *set,
                                       struct glint_error *err) {
    for (const struct glint_json *m = glint_json_first(patterns); m; m = m->next) {
        bool matches;
        GLINT_TRY(match(shape, m, m->key, name, &matches, err));
        if (matches)
            GLINT_TRY(glint_schema_set_add(shape->document, set, m, err));
        *matched = *matched || matches;
    }
    return GLINT_OK;
}

enum glint_status glint_shape_member_set(const struct glint_shape *shape,
                                         const struct glint_view *name,
                                         struct glint_schema_set *set, struct glint_error *err) {
    set->n = 0;
    for (uint32_t i = 0; i < shape->n_parts; i++) {
        const struct glint_json *part = shape->parts[i];
        const struct glint_json *schema =
            name ? glint_json_get_view(glint_json_get(part, "properties"), *name) : NULL;
        bool known = schema != NULL;
        if (name)
            GLINT_TRY(add_patterned(shape, glint_json_get(part, "patternProperties"), *name, &known,
                                    set, err));
        if (!known)
            schema = glint_json_get(part, "additionalProperties");
        if (schema)
            GLINT_TRY(glint_schema_set_add(shape->document, set, schema, err));
    }
    return GLINT_OK;
}

enum glint_status glint_shape_item_set(const struct glint_shape *shape, uint32_t i,
                                       struct glint_schema_set *set, struct glint_error *err) {
    set->n = 0;
    for (uint32_t j = 0; j < shape->n_parts; j++) {
        const struct glint_json *prefix = glint_json_get(shape->parts[j], "prefixItems");
        const struct glint_json *rest = glint_json_get(shape->parts[j], "items");
        if (glint_json_is(rest, GLINT_JSON_ARRAY)) {
            prefix = rest;
            rest = glint_json_get(shape->parts[j], "additionalItems");
        }
        const struct glint_json *schema = glint_json_at(prefix, i);
        schema = schema ? schema : rest;
        if (schema)
            GLINT_TRY(glint_schema_set_add(shape->document, set, schema, err));
    }
    return GLINT_OK;
}
