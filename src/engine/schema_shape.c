// SPDX-License-Identifier: Apache-2.0
// schema_shape.c — from a set of schemas to shapes: references, allOf, anyOf, oneOf, if.
#include "engine/schema_shape.h"

#include "base/alloc.h"

#include <string.h>

enum { MAX_PENDING = 2 * GLINT_SHAPE_MAX_PARTS };

// Something that still has to be joined to a shape.
struct pending {
    const struct glint_json *schema;
    const struct glint_json *from; // the part that names it; NULL: the set itself
    enum { JOIN, FORK_ANY, FORK_ONE, FORK_IF } kind;
};

struct work { // a shape being made
    struct glint_shape shape;
    struct pending pending[MAX_PENDING];
    uint32_t n_pending;
};

struct works { // a stack
    struct work *data;
    uint32_t n, capacity;
};

void glint_shape_fini(struct glint_shape *shape) {
    glint_free(shape->values);
    glint_free(shape->members);
    shape->values = NULL;
    shape->members = NULL;
}

void glint_shapes_fini(struct glint_shapes *shapes) {
    for (uint32_t i = 0; i < shapes->n; i++)
        glint_shape_fini(&shapes->data[i]);
    glint_free(shapes->data);
    *shapes = (struct glint_shapes){.n = 0};
}

enum glint_status glint_schema_set_add(const struct glint_schema_document *document,
                                       struct glint_schema_set *set,
                                       const struct glint_json *schema, struct glint_error *err) {
    if (schema->kind == GLINT_JSON_BOOL && schema->truth)
        return GLINT_OK;
    if (schema->kind != GLINT_JSON_BOOL && schema->kind != GLINT_JSON_OBJECT)
        return glint_schema_fail(document, schema, err, GLINT_E_ARG,
                                 "expected a schema: an object, true or false");
    uint32_t at = set->n;
    for (uint32_t i = 0; i < set->n; i++)
        if (set->schemas[i] == schema)
            return GLINT_OK;
    if (set->n == GLINT_SHAPE_MAX_PARTS)
        return glint_schema_fail(document, schema, err, GLINT_E_LIMIT,
                                 "more than 64 schemas apply to one value");
    for (; at > 0 && (uintptr_t)set->schemas[at - 1] > (uintptr_t)schema; at--)
        set->schemas[at] = set->schemas[at - 1];
    set->schemas[at] = schema;
    set->n++;
    return GLINT_OK;
}

static enum glint_status refuse(const struct work *work, const struct glint_json *at,
                                struct glint_error *err, enum glint_status status,
                                const char *what) {
    return glint_schema_fail(work->shape.document, at, err, status, what);
}

static enum glint_status push(struct work *work, struct pending pending, struct glint_error *err) {
    if (work->n_pending == MAX_PENDING)
        return refuse(work, pending.schema, err, GLINT_E_LIMIT, "too many schemas are joined");
    work->pending[work->n_pending++] = pending;
    return GLINT_OK;
}

static uint32_t part_index(const struct glint_shape *shape, const struct glint_json *schema) {
    uint32_t i = 0;
    while (i < shape->n_parts && shape->parts[i] != schema)
        i++;
    return i;
}

// Whether a part is among those that led to another.
static bool leads_to(const struct glint_shape *shape, const struct glint_json *part,
                     const struct glint_json *from) {
    while (from && from != part)
        from = shape->chain[part_index(shape, from)];
    return from != NULL;
}

static enum glint_status join_all(struct work *work, const struct glint_json *schema,
                                  struct glint_error *err) {
    const struct glint_json *all = glint_json_get(schema, "allOf");
    if (all && all->kind != GLINT_JSON_ARRAY)
        return refuse(work, all, err, GLINT_E_ARG, "expected an array of schemas");
    for (const struct glint_json *m = glint_json_first(all); m; m = m->next)
        GLINT_TRY(push(work, (struct pending){m, schema, JOIN}, err));
    return GLINT_OK;
}

static enum glint_status join_forks(struct work *work, const struct glint_json *schema,
                                    struct glint_error *err) {
    static const struct {
        const char *name;
        int kind;
    } forks[] = {{"anyOf", FORK_ANY}, {"oneOf", FORK_ONE}};
    for (int i = 0; i < 2; i++) {
        const struct glint_json *branches = glint_json_get(schema, forks[i].name);
        if (!branches)
            continue;
        if (branches->kind != GLINT_JSON_ARRAY || branches->n == 0)
            return refuse(work, branches, err, GLINT_E_ARG,
                          "expected an array of at least one schema");
        struct pending fork = {.schema = branches, .from = schema};
        fork.kind = forks[i].kind == FORK_ANY ? FORK_ANY : FORK_ONE;
        GLINT_TRY(push(work, fork, err));
    }
    if (glint_json_get(schema, "if"))
        GLINT_TRY(push(work, (struct pending){schema, schema, FORK_IF}, err));
    return GLINT_OK;
}

static enum glint_status add_not(struct work *work, const struct glint_json *schema,
                                 struct glint_error *err) {
    if (work->shape.n_nots == GLINT_SHAPE_MAX_PARTS)
        return refuse(work, schema, err, GLINT_E_LIMIT, "too many branches to keep apart");
    work->shape.nots[work->shape.n_nots++] = schema;
    return GLINT_OK;
}

static enum glint_status join_reference(struct work *work, const struct glint_json *schema,
                                        struct glint_error *err) {
    const struct glint_json *reference = glint_json_get(schema, "$ref");
    struct glint_view text;
    if (!reference)
        return GLINT_OK;
    if (!glint_json_to_string(reference, &text))
        return refuse(work, reference, err, GLINT_E_ARG, "expected a string");
    const struct glint_json *target = glint_schema_follow(work->shape.document, text);
    if (!target)
        return refuse(work, reference, err, GLINT_E_NOTFOUND,
                      "the reference leads nowhere in this document");
    return push(work, (struct pending){target, schema, JOIN}, err);
}

// Adds a schema to the shape. *possible is false when it is the schema false.
static enum glint_status join(struct work *work, struct pending pending, bool *possible,
                              struct glint_error *err) {
    const struct glint_json *schema = pending.schema;
    struct glint_shape *shape = &work->shape;
    if (schema->kind == GLINT_JSON_BOOL) {
        *possible = schema->truth;
        return GLINT_OK;
    }
    if (schema->kind != GLINT_JSON_OBJECT)
        return refuse(work, schema, err, GLINT_E_ARG,
                      "expected a schema: an object, true or false");
    if (leads_to(shape, schema, pending.from))
        return refuse(work, schema, err, GLINT_E_ARG, "the reference leads back to itself");
    if (part_index(shape, schema) < shape->n_parts)
        return GLINT_OK;
    if (shape->n_parts == GLINT_SHAPE_MAX_PARTS)
        return refuse(work, schema, err, GLINT_E_LIMIT, "more than 64 schemas apply to one value");
    shape->chain[shape->n_parts] = pending.from;
    shape->parts[shape->n_parts++] = schema;
    const struct glint_json *not = glint_json_get(schema, "not");
    if (not )
        GLINT_TRY(add_not(work, not, err));
    GLINT_TRY(join_reference(work, schema, err));
    GLINT_TRY(join_all(work, schema, err));
    return join_forks(work, schema, err);
}

static enum glint_status push_copy(struct works *works, const struct work *work,
                                   struct glint_error *err) {
    if (works->n == GLINT_SHAPE_MAX_COUNT)
        return refuse(work, work->shape.n_parts ? work->shape.parts[0] : NULL, err, GLINT_E_LIMIT,
                      "more than 256 combinations of branches");
    if (works->n == works->capacity) {
        uint32_t capacity = works->capacity ? 2 * works->capacity : 4;
        struct work *grown = glint_realloc(works->data, capacity, sizeof *grown);
        if (!grown)
            return glint_fail(err, GLINT_E_NOMEM, "schema: no memory");
        works->data = grown;
        works->capacity = capacity;
    }
    works->data[works->n++] = *work;
    return GLINT_OK;
}

// A copy of the work for each branch, the first on top.
static enum glint_status fork_branches(struct works *works, struct work *work,
                                       struct pending pending, struct glint_error *err) {
    uint32_t n_pending = work->n_pending, n_nots = work->shape.n_nots;
    for (uint32_t i = pending.schema->n; i-- > 0;) {
        uint32_t j = 0;
        work->n_pending = n_pending;
        work->shape.n_nots = n_nots;
        for (const struct glint_json *m = glint_json_first(pending.schema); m; m = m->next, j++) {
            if (j == i)
                GLINT_TRY(push(work, (struct pending){m, pending.from, JOIN}, err));
            else if (pending.kind == FORK_ONE)
                GLINT_TRY(add_not(work, m, err));
        }
        GLINT_TRY(push_copy(works, work, err));
    }
    return GLINT_OK;
}

// "if" holds and so does "then"; or it does not, and "else" holds.
static enum glint_status fork_if(struct works *works, struct work *work, struct pending pending,
                                 struct glint_error *err) {
    const struct glint_json *condition = glint_json_get(pending.schema, "if");
    const struct glint_json *then = glint_json_get(pending.schema, "then");
    const struct glint_json *otherwise = glint_json_get(pending.schema, "else");
    uint32_t n_pending = work->n_pending, n_nots = work->shape.n_nots;
    if (!then && !otherwise)
        return push_copy(works, work, err);
    GLINT_TRY(add_not(work, condition, err));
    if (otherwise)
        GLINT_TRY(push(work, (struct pending){otherwise, pending.from, JOIN}, err));
    GLINT_TRY(push_copy(works, work, err));
    work->n_pending = n_pending;
    work->shape.n_nots = n_nots;
    GLINT_TRY(push(work, (struct pending){condition, pending.from, JOIN}, err));
    if (then)
        GLINT_TRY(push(work, (struct pending){then, pending.from, JOIN}, err));
    return push_copy(works, work, err);
}

static enum glint_status keep_shape(struct glint_shapes *shapes, const struct work *work,
                                    struct glint_error *err) {
    if (shapes->n == GLINT_SHAPE_MAX_COUNT)
        return refuse(work, work->shape.n_parts ? work->shape.parts[0] : NULL, err, GLINT_E_LIMIT,
                      "more than 256 combinations of branches");
    if (shapes->n == shapes->capacity) {
        uint32_t capacity = shapes->capacity ? 2 * shapes->capacity : 2;
        struct glint_shape *grown = glint_realloc(shapes->data, capacity, sizeof *grown);
        if (!grown)
            return glint_fail(err, GLINT_E_NOMEM, "schema: no memory");
        shapes->data = grown;
        shapes->capacity = capacity;
    }
    shapes->data[shapes->n++] = work->shape;
    return GLINT_OK;
}

// Joins what is pending until the shape is whole, impossible, or forks into copies.
static enum glint_status advance(struct works *works, struct work *work,
                                 struct glint_shapes *shapes, struct glint_error *err) {
    while (work->n_pending > 0) {
        struct pending pending = work->pending[--work->n_pending];
        bool possible = true;
        if (pending.kind == FORK_IF)
            return fork_if(works, work, pending, err);
        if (pending.kind != JOIN)
            return fork_branches(works, work, pending, err);
        GLINT_TRY(join(work, pending, &possible, err));
        if (!possible)
            return GLINT_OK;
    }
    return keep_shape(shapes, work, err);
}

static enum glint_status fold_all(struct glint_shapes *shapes, struct glint_error *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < shapes->n; i++) {
        struct glint_shape *shape = &shapes->data[i];
        bool possible = true;
        enum glint_status status = glint_shape_fold(shape, &possible, err);
        if (status != GLINT_OK)
            return status;
        if (!possible) {
            glint_shape_fini(shape);
            continue;
        }
        if (n != i) {
            shapes->data[n] = *shape;
            shape->values = NULL; // moved
            shape->members = NULL;
        }
        n++;
    }
    shapes->n = n;
    return GLINT_OK;
}

enum glint_status glint_shapes_of(const struct glint_schema_document *document,
                                  const struct glint_schema_set *set, struct glint_shapes *shapes,
                                  struct glint_error *err) {
    struct works works = {.n = 0};
    struct work *work = glint_alloc(1, sizeof *work);
    *shapes = (struct glint_shapes){.n = 0};
    if (!work)
        return glint_fail(err, GLINT_E_NOMEM, "schema: no memory");
    enum glint_status status = GLINT_OK;
    work->shape.document = document;
    for (uint32_t i = 0; i < set->n && status == GLINT_OK; i++)
        status = push(work, (struct pending){set->schemas[i], NULL, JOIN}, err);
    if (status == GLINT_OK)
        status = push_copy(&works, work, err);
    while (status == GLINT_OK && works.n > 0) {
        *work = works.data[--works.n];
        status = (*document->n_steps)++ < GLINT_SHAPE_MAX_STEPS
                     ? advance(&works, work, shapes, err)
                     : refuse(work, document->root, err, GLINT_E_LIMIT,
                              "too many combinations of branches");
    }
    glint_free(works.data);
    glint_free(work);
    if (status == GLINT_OK)
        status = fold_all(shapes, err);
    if (status != GLINT_OK)
        glint_shapes_fini(shapes);
    return status;
}
