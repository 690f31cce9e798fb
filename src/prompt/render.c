// SPDX-License-Identifier: Apache-2.0
// render.c — one rendering: budgets, errors, scopes.
#include "prompt/render.h"

#include "prompt/template_names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_STEPS ((uint64_t)50000000)

bool glint_render_fail(struct glint_render *r, enum glint_status status, const char *format, ...) {
    if (r->status != GLINT_OK)
        return false;
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->status = glint_fail(r->err, status, "template line %u: %s", (unsigned)r->line, text);
    return false;
}

bool glint_render_no_memory(struct glint_render *r) {
    if (r->sink->over_limit)
        return glint_render_fail(r, GLINT_E_LIMIT, "the output is too long");
    if (r->heap->failed)
        return glint_render_fail(r, GLINT_E_LIMIT, "the values need too much memory");
    return glint_render_fail(r, GLINT_E_NOMEM, "no memory");
}

bool glint_render_charge(struct glint_render *r, size_t steps) {
    if (steps > r->steps_left) {
        r->steps_left = 0;
        return glint_render_fail(r, GLINT_E_LIMIT,
                                 "rendering takes too many steps (endless loop?)");
    }
    r->steps_left -= steps;
    return true;
}

bool glint_render_enter(struct glint_render *r) {
    if (r->depth == GLINT_RENDER_MAX_DEPTH)
        return glint_render_fail(r, GLINT_E_LIMIT, "calls or values nest more than %d levels deep",
                                 GLINT_RENDER_MAX_DEPTH);
    r->depth++;
    return true;
}

void glint_render_leave(struct glint_render *r) {
    r->depth--;
}

struct glint_scope *glint_scope_make(struct glint_render *r, struct glint_scope *parent) {
    struct glint_scope *scope = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, 1, sizeof *scope);
    if (!scope) {
        glint_render_no_memory(r);
        return NULL;
    }
    *scope = (struct glint_scope){.parent = parent};
    return scope;
}

static struct glint_binding *find_binding(const struct glint_scope *scope, int32_t symbol) {
    for (size_t i = 0; i < scope->n; i++) {
        if (scope->bindings[i].symbol == symbol)
            return &scope->bindings[i];
    }
    return NULL;
}

bool glint_scope_set(struct glint_render *r, struct glint_scope *scope, int32_t symbol,
                     struct glint_value value) {
    if (!glint_render_charge(r, 1 + scope->n / 16))
        return false;
    struct glint_binding *binding = find_binding(scope, symbol);
    if (binding) {
        binding->value = value;
        return true;
    }
    if (scope->n == scope->capacity) {
        size_t capacity = scope->capacity ? 2 * scope->capacity : 4;
        struct glint_binding *bindings =
            glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, capacity, sizeof *bindings);
        if (!bindings)
            return glint_render_no_memory(r);
        if (scope->n != 0)
            memcpy(bindings, scope->bindings, scope->n * sizeof *bindings);
        scope->bindings = bindings;
        scope->capacity = capacity;
    }
    scope->bindings[scope->n++] = (struct glint_binding){.symbol = symbol, .value = value};
    return true;
}

struct glint_value glint_scope_get(struct glint_render *r, int32_t symbol) {
    for (const struct glint_scope *scope = r->scope; scope; scope = scope->parent) {
        const struct glint_binding *binding = find_binding(scope, symbol);
        if (binding)
            return binding->value;
    }
    const struct glint_string *name = r->t->symbols[symbol].name;
    const struct glint_dict *variables = r->input->variables;
    for (size_t i = 0; variables && i < variables->n; i++) {
        struct glint_value key = variables->entries[i].key;
        if (key.kind == GLINT_VALUE_STRING && glint_string_equal(key.as.text, name))
            return variables->entries[i].value;
    }
    int function = glint_function_find(glint_string_view(name));
    bool clock = glint_string_is(name, "strftime_now");
    if (function != 0 && (!clock || r->input->clock.present))
        return (struct glint_value){.kind = GLINT_VALUE_FUNCTION, .as.function = function};
    return glint_value_undefined(name);
}

bool glint_render_string(struct glint_render *r, const struct glint_string *text,
                         struct glint_value *out) {
    if (!text)
        return glint_render_no_memory(r);
    *out = glint_value_string(text);
    return true;
}

bool glint_render_take(struct glint_render *r, struct glint_sink_mark mark,
                       struct glint_value *out) {
    if (!glint_render_charge(r, (r->sink->bytes.n - mark.n) / 64))
        return false;
    return glint_render_string(r, glint_sink_take(r->sink, r->heap, mark), out);
}

enum glint_status glint_template_render(const struct glint_template *t,
                                        const struct glint_template_input *input,
                                        struct glint_heap *heap, struct glint_sink *sink,
                                        struct glint_error *err) {
    struct glint_render r = {.t = t, .input = input, .heap = heap, .sink = sink, .err = err};
    r.steps_left = input->max_steps ? input->max_steps : DEFAULT_STEPS;
    r.scope = glint_scope_make(&r, NULL);
    if (r.scope)
        glint_render_body(&r, t->body);
    if (r.status == GLINT_OK && sink->full)
        glint_render_no_memory(&r);
    return r.status;
}
