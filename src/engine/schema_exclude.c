// SPDX-License-Identifier: Apache-2.0
// schema_exclude.c — values that must not satisfy a schema: the other branches of oneOf, "not",
// and "if" on its else side.
// Grammars cannot subtract, so the shape is narrowed until it has nothing in common with what it
// must avoid: listed values are left out, an optional member that tells the two apart becomes
// required, a member that the other needs is not written.
#include "engine/schema_shape.h"

enum { MAX_DEPTH = 4 }; // of members that tell two shapes apart

static enum glint_status sets_differ(const struct glint_schema_document *document,
                                     const struct glint_schema_set *a,
                                     const struct glint_schema_set *b, int depth, bool *differ,
                                     struct glint_error *err);

// ---- shapes that have no value in common ------------------------------------------------------

static bool numbers_differ(const struct glint_number_rule *a, const struct glint_number_rule *b) {
    if (a->has_low && b->has_high) {
        int order = glint_decimal_compare(&a->low, &b->high);
        if (order > 0 || (order == 0 && (a->low_open || b->high_open)))
            return true;
    }
    if (a->has_high && b->has_low) {
        int order = glint_decimal_compare(&a->high, &b->low);
        return order < 0 || (order == 0 && (a->high_open || b->low_open));
    }
    return false;
}

static bool has_member(const struct glint_shape *shape, struct glint_view name) {
    for (uint32_t i = 0; i < shape->n_members; i++)
        if (glint_view_equal(shape->members[i].name, name))
            return true;
    return false;
}

// The shape cannot write a member that the other needs.
static bool lacks_required(const struct glint_shape *shape, const struct glint_shape *other) {
    for (uint32_t i = 0; !shape->other_members && i < other->n_members; i++)
        if (other->members[i].required && !has_member(shape, other->members[i].name))
            return true;
    return false;
}

// Index of a member whose values are never right for the other shape, n_members when none is.
static enum glint_status find_telling(const struct glint_shape *shape,
                                      const struct glint_shape *other, bool required, int depth,
                                      uint32_t *index, struct glint_error *err) {
    struct glint_schema_set mine, theirs;
    for (*index = 0; *index < shape->n_members; (*index)++) {
        const struct glint_shape_member *member = &shape->members[*index];
        bool differ = false;
        if (required && !member->required)
            continue;
        GLINT_TRY(glint_shape_member_set(shape, &member->name, &mine, err));
        GLINT_TRY(glint_shape_member_set(other, &member->name, &theirs, err));
        GLINT_TRY(sets_differ(shape->document, &mine, &theirs, depth + 1, &differ, err));
        if (differ)
            return GLINT_OK;
    }
    return GLINT_OK;
}

static enum glint_status objects_differ(const struct glint_shape *a, const struct glint_shape *b,
                                        int depth, bool *differ, struct glint_error *err) {
    uint32_t index;
    *differ = lacks_required(a, b);
    if (*differ || depth >= MAX_DEPTH)
        return GLINT_OK;
    GLINT_TRY(find_telling(a, b, true, depth, &index, err));
    *differ = index < a->n_members;
    return GLINT_OK;
}

static bool texts_differ(const struct glint_shape *a, const struct glint_shape *b) {
    return a->least_chars > b->most_chars || b->least_chars > a->most_chars;
}

static bool arrays_differ(const struct glint_shape *a, const struct glint_shape *b) {
    return a->least_items > b->most_items || b->least_items > a->most_items;
}

// The types of which values of `a` may satisfy `b`.
static enum glint_status common_types(const struct glint_shape *a, const struct glint_shape *b,
                                      int depth, unsigned *common, struct glint_error *err) {
    const unsigned numeric = GLINT_TYPE_NUMBER | GLINT_TYPE_INTEGER;
    bool differ = false;
    *common = a->types & b->types;
    if (*common & numeric && numbers_differ(&a->number, &b->number))
        *common &= ~numeric;
    if (*common & GLINT_TYPE_STRING && texts_differ(a, b))
        *common &= ~(unsigned)GLINT_TYPE_STRING;
    if (*common & GLINT_TYPE_ARRAY && arrays_differ(a, b))
        *common &= ~(unsigned)GLINT_TYPE_ARRAY;
    if (*common & GLINT_TYPE_OBJECT)
        GLINT_TRY(objects_differ(a, b, depth, &differ, err));
    if (differ)
        *common &= ~(unsigned)GLINT_TYPE_OBJECT;
    return GLINT_OK;
}

// Whether any value that `list` lists is one of the other shape's.
static enum glint_status takes_any(const struct glint_shape *list, const struct glint_shape *other,
                                   bool *any, struct glint_error *err) {
    *any = false;
    for (uint32_t i = 0; !*any && i < list->n_values; i++) {
        GLINT_TRY(glint_shape_takes(other, list->values[i], any, err));
        bool listed = !other->listed;
        for (uint32_t j = 0; !listed && j < other->n_values; j++)
            listed = glint_json_equal(list->values[i], other->values[j]);
        *any = *any && listed;
    }
    return GLINT_OK;
}

static enum glint_status shapes_differ(const struct glint_shape *a, const struct glint_shape *b,
                                       int depth, bool *differ, struct glint_error *err) {
    bool any = true;
    unsigned common = 0;
    if (a->listed || b->listed) {
        GLINT_TRY(takes_any(a->listed ? a : b, a->listed ? b : a, &any, err));
        *differ = !any;
        return GLINT_OK;
    }
    GLINT_TRY(common_types(a, b, depth, &common, err));
    *differ = common == 0;
    return GLINT_OK;
}

static enum glint_status sets_differ(const struct glint_schema_document *document,
                                     const struct glint_schema_set *a,
                                     const struct glint_schema_set *b, int depth, bool *differ,
                                     struct glint_error *err) {
    struct glint_shapes mine = {.n = 0}, theirs = {.n = 0};
    enum glint_status status = glint_shapes_of(document, a, &mine, err);
    if (status == GLINT_OK)
        status = glint_shapes_of(document, b, &theirs, err);
    *differ = true;
    for (uint32_t i = 0; status == GLINT_OK && i < mine.n; i++)
        for (uint32_t j = 0; status == GLINT_OK && *differ && j < theirs.n; j++)
            status = shapes_differ(&mine.data[i], &theirs.data[j], depth, differ, err);
    glint_shapes_fini(&mine);
    glint_shapes_fini(&theirs);
    return status;
}

// ---- narrowing --------------------------------------------------------------------------------

// Leaves out the listed values that the other shape takes.
static enum glint_status drop_values(struct glint_shape *shape, const struct glint_shape *other,
                                     struct glint_error *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < shape->n_values; i++) {
        struct glint_shape one = *shape;
        bool taken;
        one.values = &shape->values[i];
        one.n_values = 1;
        GLINT_TRY(takes_any(&one, other, &taken, err));
        if (!taken)
            shape->values[n++] = shape->values[i];
    }
    shape->n_values = n;
    return GLINT_OK;
}

// Makes the objects differ: by a member that becomes required, or one that is not written.
static enum glint_status narrow_object(struct glint_shape *shape, const struct glint_shape *other,
                                       bool *done, struct glint_error *err) {
    uint32_t index;
    GLINT_TRY(find_telling(shape, other, false, 0, &index, err));
    *done = index < shape->n_members;
    if (*done) {
        shape->members[index].required = true;
        return GLINT_OK;
    }
    for (uint32_t i = 0; !*done && i < other->n_members; i++) {
        if (!other->members[i].required)
            continue;
        for (uint32_t j = 0; !*done && j < shape->n_members; j++) {
            struct glint_shape_member *member = &shape->members[j];
            if (!glint_view_equal(member->name, other->members[i].name) || member->required)
                continue;
            *member = shape->members[--shape->n_members];
            *done = true;
        }
        if (!*done && !has_member(shape, other->members[i].name))
            *done = true; // it comes as a key without a name only
        if (*done)
            shape->other_members = false;
    }
    return GLINT_OK;
}

static enum glint_status exclude_shape(struct glint_shape *shape, const struct glint_shape *other,
                                       bool *done, struct glint_error *err) {
    unsigned common;
    *done = true;
    if (shape->listed)
        return drop_values(shape, other, err);
    GLINT_TRY(common_types(shape, other, 0, &common, err));
    if (common == 0)
        return GLINT_OK;
    if (other->listed) { // a few values out of many
        bool any;
        GLINT_TRY(takes_any(other, shape, &any, err));
        if (!any)
            return GLINT_OK;
    }
    if (common & GLINT_TYPE_INTEGER) // a number that is drawn may be a whole one
        common |= GLINT_TYPE_NUMBER;
    if ((shape->types & ~common) != 0 && !(common & GLINT_TYPE_OBJECT)) {
        shape->types &= ~common; // values of other types are left
        return GLINT_OK;
    }
    bool narrowed = false;
    if (common & GLINT_TYPE_OBJECT)
        GLINT_TRY(narrow_object(shape, other, &narrowed, err));
    unsigned left = narrowed ? common & ~(unsigned)GLINT_TYPE_OBJECT : common;
    shape->types &= ~left;
    *done = shape->types != 0;
    return GLINT_OK;
}

enum glint_status glint_shape_exclude(struct glint_shape *shape, struct glint_error *err) {
    for (uint32_t i = 0; i < shape->n_nots; i++) {
        struct glint_schema_set set = {.n = 0};
        struct glint_shapes others = {.n = 0};
        bool done = true;
        GLINT_TRY(glint_schema_set_add(shape->document, &set, shape->nots[i], err));
        enum glint_status status = glint_shapes_of(shape->document, &set, &others, err);
        for (uint32_t j = 0; status == GLINT_OK && done && j < others.n; j++)
            status = exclude_shape(shape, &others.data[j], &done, err);
        glint_shapes_fini(&others);
        GLINT_TRY(status);
        if (!done)
            return glint_schema_fail(shape->document, shape->nots[i], err, GLINT_E_UNSUPPORTED,
                                     "cannot be enforced: a value may satisfy this as well as "
                                     "what it must not be with (oneOf, not or if)");
    }
    return GLINT_OK;
}
