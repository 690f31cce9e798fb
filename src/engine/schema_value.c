// SPDX-License-Identifier: Apache-2.0
// schema_value.c — see schema_value.h.
#include "engine/schema_value.h"

#include "base/alloc.h"
#include "format/json_write.h"
#include "sample/text_dfa.h"

#include <stdio.h>
#include <string.h>

enum { MAX_INDENT = 64, MAX_TABS = 16, MAX_STATES = 200000 };

static enum glint_status no_memory(struct glint_error *err) {
    return glint_fail(err, GLINT_E_NOMEM, "schema: no memory");
}

// ---- lexemes ----------------------------------------------------------------------------------

// before + white space + after, for every white space there may be.
static uint32_t spaced(struct glint_dfa *dfa, const char *before, const char *after) {
    enum { N = MAX_INDENT + MAX_TABS + 3, SIZE = MAX_INDENT + 8 };
    struct glint_view words[N];
    char *text = glint_alloc(N, SIZE);
    if (!text) {
        dfa->failed = true;
        return GLINT_DFA_NONE;
    }
    for (int i = 0; i < N; i++) {
        char *word = text + i * SIZE;
        int tabs = i > MAX_INDENT + 2 ? i - MAX_INDENT - 2 : 0;
        int spaces = tabs == 0 && i > 2 ? i - 2 : 0;
        const char *space = i == 0 ? "" : i == 1 ? " " : "\n";
        size_t n = (size_t)snprintf(word, SIZE, "%s%s", before, space);
        memset(word + n, tabs ? '\t' : ' ', (size_t)(tabs + spaces));
        n += (size_t)(tabs + spaces);
        n += (size_t)snprintf(word + n, SIZE - n, "%s", after);
        words[i] = (struct glint_view){word, n};
    }
    uint32_t start = glint_dfa_words(dfa, words, N);
    glint_free(text);
    return start;
}

static uint32_t words_of(struct glint_dfa *dfa, const char *a, const char *b) {
    struct glint_view words[2] = {glint_view_of(a), glint_view_of(b)};
    return glint_dfa_words(dfa, words, 2);
}

enum glint_status glint_json_lexemes_init(struct glint_json_lexemes *lexemes,
                                          struct glint_grammar *grammar, struct glint_error *err) {
    struct glint_dfa *dfa = &grammar->dfa;
    struct glint_number_rule integer = {.whole = true}, number = {.whole = false};
    *lexemes = (struct glint_json_lexemes){
        .brace_open = spaced(dfa, "{", ""),
        .brace_close = glint_dfa_literal(dfa, glint_view_of("}")),
        .brace_close_after = spaced(dfa, "", "}"),
        .bracket_open = spaced(dfa, "[", ""),
        .bracket_close = glint_dfa_literal(dfa, glint_view_of("]")),
        .bracket_close_after = spaced(dfa, "", "]"),
        .comma = spaced(dfa, ",", ""),
        .colon = words_of(dfa, ":", ": "),
        .quote = glint_dfa_literal(dfa, glint_view_of("\"")),
        .null = glint_dfa_literal(dfa, glint_view_of("null")),
        .boolean = words_of(dfa, "true", "false"),
    };
    glint_dfa_number(dfa, &integer, &lexemes->integer);
    glint_dfa_number(dfa, &number, &lexemes->number);
    lexemes->leave = glint_grammar_add(grammar, (struct glint_node){.kind = GLINT_NODE_RETURN});
    return dfa->failed || grammar->failed ? no_memory(err) : GLINT_OK;
}

// ---- lists ------------------------------------------------------------------------------------

void glint_schema_compiler_fini(struct glint_schema_compiler *compiler) {
    glint_free(compiler->values);
    compiler->values = NULL;
    compiler->n_values = compiler->n_done = compiler->capacity = 0;
}

enum glint_status glint_links_add(struct glint_links *links, struct glint_link link,
                                  struct glint_error *err) {
    if (links->n == links->capacity) {
        uint32_t capacity = links->capacity ? 2 * links->capacity : 8;
        struct glint_link *grown = glint_realloc(links->data, capacity, sizeof *grown);
        if (!grown)
            return no_memory(err);
        links->data = grown;
        links->capacity = capacity;
    }
    links->data[links->n++] = link;
    return GLINT_OK;
}

static enum glint_status add_leaf(struct glint_links *links, uint32_t node,
                                  struct glint_error *err) {
    struct glint_link link = {.node = node, .object = GLINT_NODE_NONE, .array = GLINT_NODE_NONE};
    return glint_links_add(links, link, err);
}

enum glint_status glint_schema_value(struct glint_schema_compiler *compiler,
                                     const struct glint_schema_set *set, uint32_t *choice,
                                     struct glint_error *err) {
    for (uint32_t i = 0; i < compiler->n_values; i++) {
        const struct glint_schema_value *value = &compiler->values[i];
        if (value->set.n == set->n &&
            memcmp(value->set.schemas, set->schemas, set->n * sizeof *set->schemas) == 0) {
            *choice = value->choice;
            return GLINT_OK;
        }
    }
    if (compiler->n_values == GLINT_SHAPE_MAX_VALUES)
        return glint_schema_fail(&compiler->document, set->n ? set->schemas[0] : NULL, err,
                                 GLINT_E_LIMIT, "the schema has more than 5,000 different parts");
    if (compiler->n_values == compiler->capacity) {
        uint32_t capacity = compiler->capacity ? 2 * compiler->capacity : 16;
        struct glint_schema_value *grown = glint_realloc(compiler->values, capacity, sizeof *grown);
        if (!grown)
            return no_memory(err);
        compiler->values = grown;
        compiler->capacity = capacity;
    }
    *choice = glint_grammar_add(compiler->grammar, (struct glint_node){.kind = GLINT_NODE_CHOICE});
    if (*choice == GLINT_NODE_NONE)
        return no_memory(err);
    compiler->values[compiler->n_values++] = (struct glint_schema_value){*set, *choice};
    return GLINT_OK;
}

// ---- texts and numbers ------------------------------------------------------------------------

static enum glint_status check_fit(struct glint_schema_compiler *compiler,
                                   const struct glint_json *at, enum glint_machine_fit fit,
                                   struct glint_error *err) {
    if (compiler->grammar->dfa.failed)
        return no_memory(err);
    if (compiler->grammar->dfa.n_states > MAX_STATES)
        return glint_schema_fail(&compiler->document, at, err, GLINT_E_LIMIT,
                                 "cannot be enforced: the automata of the schema would have more "
                                 "than 200,000 states");
    if (fit == GLINT_MACHINE_LARGE)
        return glint_schema_fail(&compiler->document, at, err, GLINT_E_LIMIT,
                                 "cannot be enforced: the automaton would have more than 20,000 "
                                 "states");
    return GLINT_OK;
}

static enum glint_status pattern_start(struct glint_schema_compiler *compiler,
                                       const struct glint_shape *shape,
                                       enum glint_spelling spelling, uint32_t *start,
                                       struct glint_error *err) {
    struct glint_nfa patterns[2] = {{.n = 0}, {.n = 0}};
    struct glint_text_rule rule = {.spelling = spelling,
                                   .without_closer = compiler->in_call,
                                   .patterns = patterns,
                                   .n_patterns = shape->n_patterns,
                                   .least = shape->least_chars,
                                   .most = shape->most_chars};
    enum glint_status status = GLINT_OK;
    for (unsigned i = 0; i < shape->n_patterns && status == GLINT_OK; i++) {
        struct glint_error why = {.status = GLINT_OK};
        status = glint_nfa_open(&patterns[i], shape->patterns[i]->text, spelling, &why);
        if (status == GLINT_E_UNSUPPORTED || status == GLINT_E_LIMIT) {
            char text[512];
            snprintf(text, sizeof text, "cannot be enforced: %.400s", why.text);
            status = glint_schema_fail(&compiler->document, shape->patterns[i], err, status, text);
        } else if (status != GLINT_OK) {
            status =
                glint_schema_fail(&compiler->document, shape->patterns[i], err, status, why.text);
        }
    }
    if (status == GLINT_OK) {
        enum glint_machine_fit fit = glint_dfa_pattern(&compiler->grammar->dfa, &rule, start);
        status = check_fit(compiler, shape->patterns[0], fit, err);
        if (fit != GLINT_MACHINE_FITS)
            *start = GLINT_DFA_NONE;
    }
    glint_nfa_fini(&patterns[0]);
    glint_nfa_fini(&patterns[1]);
    return status;
}

enum glint_status glint_schema_text(struct glint_schema_compiler *compiler,
                                    const struct glint_shape *shape, enum glint_spelling spelling,
                                    uint32_t next, uint32_t *node, struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    struct glint_node lex = {.kind = GLINT_NODE_LEX, .next = next, .most = GLINT_NO_LIMIT};
    *node = GLINT_NODE_NONE;
    if (shape->n_patterns > 0) {
        GLINT_TRY(pattern_start(compiler, shape, spelling, &lex.target, err));
        if (lex.target == GLINT_DFA_NONE)
            return GLINT_OK;
    } else {
        lex.target = spelling == GLINT_SPELL_RAW ? grammar->raw_text
                     : compiler->in_call         ? grammar->json_text_closed
                                                 : grammar->json_text;
        lex.least = shape->least_chars;
        lex.most = shape->most_chars;
    }
    *node = glint_grammar_add(grammar, lex);
    return *node == GLINT_NODE_NONE ? no_memory(err) : GLINT_OK;
}

static enum glint_status add_string(struct glint_schema_compiler *compiler,
                                    const struct glint_shape *shape, struct glint_links *links,
                                    struct glint_error *err) {
    uint32_t text;
    GLINT_TRY(
        glint_schema_text(compiler, shape, GLINT_SPELL_JSON, compiler->lexemes->leave, &text, err));
    if (text == GLINT_NODE_NONE)
        return GLINT_OK;
    return add_leaf(links, glint_grammar_lex(compiler->grammar, compiler->lexemes->quote, text),
                    err);
}

static enum glint_status add_number(struct glint_schema_compiler *compiler,
                                    const struct glint_shape *shape, struct glint_links *links,
                                    struct glint_error *err) {
    struct glint_number_rule rule = shape->number;
    uint32_t start;
    rule.whole = !(shape->types & GLINT_TYPE_NUMBER);
    if (!rule.has_low && !rule.has_high && rule.multiple == 0) {
        start = rule.whole ? compiler->lexemes->integer : compiler->lexemes->number;
    } else {
        enum glint_machine_fit fit = glint_dfa_number(&compiler->grammar->dfa, &rule, &start);
        GLINT_TRY(check_fit(compiler, shape->parts[0], fit, err));
        if (fit != GLINT_MACHINE_FITS)
            return GLINT_OK;
    }
    return add_leaf(links, glint_grammar_lex(compiler->grammar, start, compiler->lexemes->leave),
                    err);
}

// ---- listed values ----------------------------------------------------------------------------

static bool contains(struct glint_view text, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.data + i, part, n) == 0)
            return true;
    return false;
}

static enum glint_status add_listed(struct glint_schema_compiler *compiler,
                                    const struct glint_shape *shape, bool skip_text,
                                    struct glint_links *links, struct glint_error *err) {
    struct glint_buffer text = {.data = NULL};
    struct glint_view *words = glint_alloc(shape->n_values, sizeof *words);
    size_t *ends = glint_alloc(shape->n_values, sizeof *ends);
    uint32_t n = 0, start = GLINT_DFA_NONE;
    for (uint32_t i = 0; words && ends && i < shape->n_values; i++) {
        const struct glint_json *value = shape->values[i];
        if (skip_text && value->kind == GLINT_JSON_STRING)
            continue;
        if (value->kind == GLINT_JSON_NUMBER)
            glint_buffer_append(&text, value->text.data, value->text.n);
        else
            glint_json_put_value(&text, value, GLINT_JSON_PYTHON);
        ends[n++] = text.n;
    }
    for (uint32_t i = 0; i < n && !text.failed; i++) {
        size_t begin = i ? ends[i - 1] : 0;
        words[i] = (struct glint_view){text.data + begin, ends[i] - begin};
    }
    bool ok = words && ends && !text.failed;
    bool clean = !ok || !compiler->in_call ||
                 !contains((struct glint_view){text.data, text.n}, glint_closer_text);
    if (ok && n > 0)
        start = glint_dfa_words(&compiler->grammar->dfa, words, n);
    glint_buffer_fini(&text);
    glint_free(words);
    glint_free(ends);
    if (!ok || compiler->grammar->dfa.failed)
        return no_memory(err);
    if (!clean)
        return glint_schema_fail(&compiler->document, shape->values[0], err, GLINT_E_UNSUPPORTED,
                                 "a tool call cannot hold a value with </atem:parameter> in it");
    if (n == 0)
        return GLINT_OK;
    return add_leaf(links, glint_grammar_lex(compiler->grammar, start, compiler->lexemes->leave),
                    err);
}

// ---- objects ----------------------------------------------------------------------------------

// A key that is not among the shape's members.
static enum glint_status add_other_key(struct glint_schema_compiler *compiler,
                                       const struct glint_shape *shape, uint32_t call,
                                       uint32_t *key, struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    uint32_t start = compiler->in_call ? grammar->json_text_closed : grammar->json_text;
    if (shape->n_members > 0) {
        struct glint_view *words = glint_alloc(shape->n_members, sizeof *words);
        if (!words)
            return no_memory(err);
        for (uint32_t i = 0; i < shape->n_members; i++)
            words[i] = shape->members[i].name;
        enum glint_machine_fit fit =
            glint_dfa_other_word(&grammar->dfa, words, shape->n_members, &start);
        glint_free(words);
        GLINT_TRY(check_fit(compiler, shape->parts[0], fit, err));
    }
    uint32_t colon = glint_grammar_lex(grammar, compiler->lexemes->colon, call);
    uint32_t text = glint_grammar_lex(grammar, start, colon);
    *key = glint_grammar_lex(grammar, compiler->lexemes->quote, text);
    return GLINT_OK;
}

static enum glint_status add_key(struct glint_schema_compiler *compiler, struct glint_view name,
                                 uint32_t call, uint32_t *key, struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    struct glint_buffer text = {.data = NULL};
    glint_json_put_string(&text, name);
    if (text.failed)
        return no_memory(err);
    struct glint_view spelled = {text.data, text.n};
    bool clean = !compiler->in_call || !contains(spelled, glint_closer_text);
    uint32_t start = glint_dfa_literal(&grammar->dfa, spelled);
    glint_buffer_fini(&text);
    if (!clean)
        return glint_schema_fail(&compiler->document, compiler->document.root, err,
                                 GLINT_E_UNSUPPORTED,
                                 "a tool call cannot hold a key with </atem:parameter> in it");
    uint32_t colon = glint_grammar_lex(grammar, compiler->lexemes->colon, call);
    *key = glint_grammar_lex(grammar, start, colon);
    return GLINT_OK;
}

static enum glint_status add_members(struct glint_schema_compiler *compiler,
                                     const struct glint_shape *shape, uint32_t after,
                                     struct glint_object *object, struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    struct glint_schema_set set;
    uint32_t value = GLINT_NODE_NONE, key = GLINT_NODE_NONE;
    object->first_member = grammar->n_members;
    for (uint32_t i = 0; i < shape->n_members; i++) {
        const struct glint_shape_member *member = &shape->members[i];
        GLINT_TRY(glint_shape_member_set(shape, &member->name, &set, err));
        GLINT_TRY(glint_schema_value(compiler, &set, &value, err));
        GLINT_TRY(
            add_key(compiler, member->name, glint_grammar_call(grammar, value, after), &key, err));
        glint_grammar_add_member(grammar, (struct glint_member){key, value, member->required});
        object->n_required += member->required;
        object->n_members++;
    }
    if (!shape->other_members)
        return GLINT_OK;
    GLINT_TRY(glint_shape_member_set(shape, NULL, &set, err));
    GLINT_TRY(glint_schema_value(compiler, &set, &object->other_value, err));
    return add_other_key(compiler, shape, glint_grammar_call(grammar, object->other_value, after),
                         &object->other, err);
}

static enum glint_status add_object(struct glint_schema_compiler *compiler,
                                    const struct glint_shape *shape, struct glint_links *links,
                                    struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    const struct glint_json_lexemes *lexemes = compiler->lexemes;
    struct glint_object object = {.other = GLINT_NODE_NONE,
                                  .other_value = GLINT_NODE_NONE,
                                  .least = shape->least_members,
                                  .most = shape->most_members};
    uint32_t parts[3];
    for (uint8_t part = 0; part < 3; part++)
        parts[part] = glint_grammar_add(
            grammar, (struct glint_node){.kind = GLINT_NODE_MEMBERS, .part = part});
    GLINT_TRY(add_members(compiler, shape, parts[GLINT_PART_AFTER], &object, err));
    object.comma = glint_grammar_lex(grammar, lexemes->comma, parts[GLINT_PART_NEXT]);
    object.close_first = glint_grammar_lex(grammar, lexemes->brace_close, lexemes->leave);
    object.close_after = glint_grammar_lex(grammar, lexemes->brace_close_after, lexemes->leave);
    uint32_t index = glint_grammar_add_object(grammar, object);
    struct glint_link link = {.object = index, .array = GLINT_NODE_NONE};
    link.node = glint_grammar_lex(grammar, lexemes->brace_open, parts[GLINT_PART_FIRST]);
    if (grammar->failed || grammar->dfa.failed)
        return no_memory(err);
    for (int part = 0; part < 3; part++)
        grammar->nodes[parts[part]].target = index;
    return glint_links_add(links, link, err);
}

// ---- arrays -----------------------------------------------------------------------------------

// Different items out of a list: members without values, each of which is written once.
static enum glint_status add_different(struct glint_schema_compiler *compiler,
                                       const struct glint_shape *shape,
                                       const struct glint_shapes *items, uint32_t parts[3],
                                       struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    const struct glint_json_lexemes *lexemes = compiler->lexemes;
    struct glint_object object = {.first_member = grammar->n_members,
                                  .other = GLINT_NODE_NONE,
                                  .least = shape->least_items,
                                  .most = shape->most_items};
    for (uint32_t i = 0; i < items->n; i++)
        for (uint32_t j = 0; j < items->data[i].n_values; j++) {
            struct glint_shape one = items->data[i];
            struct glint_links links = {.n = 0};
            uint32_t value =
                glint_grammar_add(grammar, (struct glint_node){.kind = GLINT_NODE_CHOICE});
            one.values = &items->data[i].values[j];
            one.n_values = 1;
            enum glint_status status = add_listed(compiler, &one, false, &links, err);
            if (status == GLINT_OK)
                glint_grammar_set_choice(grammar, value, links.data, links.n);
            glint_free(links.data);
            GLINT_TRY(status);
            uint32_t call = glint_grammar_call(grammar, value, parts[GLINT_PART_AFTER]);
            glint_grammar_add_member(grammar, (struct glint_member){call, value, false});
            object.n_members++;
        }
    object.comma = glint_grammar_lex(grammar, lexemes->comma, parts[GLINT_PART_NEXT]);
    object.close_first = glint_grammar_lex(grammar, lexemes->bracket_close, lexemes->leave);
    object.close_after = glint_grammar_lex(grammar, lexemes->bracket_close_after, lexemes->leave);
    uint32_t index = glint_grammar_add_object(grammar, object);
    if (grammar->failed || grammar->dfa.failed)
        return no_memory(err);
    for (int part = 0; part < 3; part++) {
        grammar->nodes[parts[part]].kind = GLINT_NODE_MEMBERS;
        grammar->nodes[parts[part]].target = index;
    }
    return GLINT_OK;
}

// An array whose items differ: possible where they come from a list.
static enum glint_status add_unique(struct glint_schema_compiler *compiler,
                                    const struct glint_shape *shape, uint32_t parts[3],
                                    struct glint_error *err) {
    struct glint_schema_set set;
    struct glint_shapes items;
    GLINT_TRY(glint_shape_item_set(shape, 0, &set, err));
    GLINT_TRY(glint_shapes_of(&compiler->document, &set, &items, err));
    bool listed = shape->n_prefix == 0 && items.n == 1 && items.data[0].listed &&
                  items.data[0].n_nots == 0 && items.data[0].n_values <= GLINT_GRAMMAR_MAX_MEMBERS;
    enum glint_status status = GLINT_OK;
    const struct glint_json *at = NULL;
    for (uint32_t i = 0; i < shape->n_parts && !at; i++)
        at = glint_json_get(shape->parts[i], "uniqueItems");
    if (listed)
        status = add_different(compiler, shape, &items, parts, err);
    else
        status = glint_schema_fail(&compiler->document, at, err, GLINT_E_UNSUPPORTED,
                                   "cannot be enforced unless the items are an enum");
    glint_shapes_fini(&items);
    return status;
}

static enum glint_status add_items(struct glint_schema_compiler *compiler,
                                   const struct glint_shape *shape, uint32_t parts[3],
                                   struct glint_array *array, struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    const struct glint_json_lexemes *lexemes = compiler->lexemes;
    struct glint_schema_set set;
    uint32_t value = GLINT_NODE_NONE;
    array->first_item = grammar->n_items;
    for (uint32_t i = 0; i <= shape->n_prefix; i++) {
        GLINT_TRY(glint_shape_item_set(shape, i, &set, err));
        GLINT_TRY(glint_schema_value(compiler, &set, &value, err));
        uint32_t call = glint_grammar_call(grammar, value, parts[GLINT_PART_AFTER]);
        if (i == shape->n_prefix) {
            array->rest = call;
            break;
        }
        glint_grammar_add_item(grammar, call);
        array->n_items++;
    }
    array->comma = glint_grammar_lex(grammar, lexemes->comma, parts[GLINT_PART_NEXT]);
    array->close_first = glint_grammar_lex(grammar, lexemes->bracket_close, lexemes->leave);
    array->close_after = glint_grammar_lex(grammar, lexemes->bracket_close_after, lexemes->leave);
    return GLINT_OK;
}

static enum glint_status add_array(struct glint_schema_compiler *compiler,
                                   const struct glint_shape *shape, struct glint_links *links,
                                   struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    struct glint_array array = {.least = shape->least_items, .most = shape->most_items};
    struct glint_link link = {.object = GLINT_NODE_NONE, .array = GLINT_NODE_NONE};
    uint32_t parts[3];
    for (uint8_t part = 0; part < 3; part++)
        parts[part] =
            glint_grammar_add(grammar, (struct glint_node){.kind = GLINT_NODE_ITEMS, .part = part});
    if (grammar->failed)
        return no_memory(err);
    if (shape->unique_items && shape->most_items > 1) {
        GLINT_TRY(add_unique(compiler, shape, parts, err));
        link.object = grammar->nodes[parts[0]].target;
    } else {
        GLINT_TRY(add_items(compiler, shape, parts, &array, err));
        link.array = glint_grammar_add_array(grammar, array);
    }
    link.node = glint_grammar_lex(grammar, compiler->lexemes->bracket_open, parts[0]);
    if (grammar->failed || grammar->dfa.failed)
        return no_memory(err);
    for (int part = 0; part < 3 && link.array != GLINT_NODE_NONE; part++)
        grammar->nodes[parts[part]].target = link.array;
    return glint_links_add(links, link, err);
}

// ---- values -----------------------------------------------------------------------------------

enum glint_status glint_schema_links(struct glint_schema_compiler *compiler,
                                     const struct glint_shape *shape, bool skip_text,
                                     struct glint_links *links, struct glint_error *err) {
    struct glint_grammar *grammar = compiler->grammar;
    const struct glint_json_lexemes *lexemes = compiler->lexemes;
    if (shape->listed)
        return add_listed(compiler, shape, skip_text, links, err);
    if (shape->types & GLINT_TYPE_NULL)
        GLINT_TRY(add_leaf(links, glint_grammar_lex(grammar, lexemes->null, lexemes->leave), err));
    if (shape->types & GLINT_TYPE_BOOLEAN)
        GLINT_TRY(
            add_leaf(links, glint_grammar_lex(grammar, lexemes->boolean, lexemes->leave), err));
    if (shape->types & (GLINT_TYPE_NUMBER | GLINT_TYPE_INTEGER))
        GLINT_TRY(add_number(compiler, shape, links, err));
    if (shape->types & GLINT_TYPE_STRING && !skip_text)
        GLINT_TRY(add_string(compiler, shape, links, err));
    if (shape->types & GLINT_TYPE_ARRAY)
        GLINT_TRY(add_array(compiler, shape, links, err));
    if (shape->types & GLINT_TYPE_OBJECT)
        GLINT_TRY(add_object(compiler, shape, links, err));
    return grammar->failed ? no_memory(err) : GLINT_OK;
}

static enum glint_status compile_value(struct glint_schema_compiler *compiler, uint32_t i,
                                       struct glint_error *err) {
    struct glint_schema_set set = compiler->values[i].set;
    uint32_t choice = compiler->values[i].choice;
    struct glint_shapes shapes;
    struct glint_links links = {.n = 0};
    enum glint_status status = glint_shapes_of(&compiler->document, &set, &shapes, err);
    for (uint32_t j = 0; status == GLINT_OK && j < shapes.n; j++) {
        status = glint_shape_exclude(&shapes.data[j], err);
        if (status == GLINT_OK)
            status = glint_schema_links(compiler, &shapes.data[j], false, &links, err);
    }
    if (status == GLINT_OK)
        glint_grammar_set_choice(compiler->grammar, choice, links.data, links.n);
    if (status == GLINT_OK && (compiler->grammar->failed || compiler->grammar->dfa.failed))
        status = no_memory(err);
    glint_free(links.data);
    glint_shapes_fini(&shapes);
    return status;
}

enum glint_status glint_schema_compile(struct glint_schema_compiler *compiler,
                                       struct glint_error *err) {
    while (compiler->n_done < compiler->n_values)
        GLINT_TRY(compile_value(compiler, compiler->n_done++, err));
    return GLINT_OK;
}

// ---- values that cannot be written ------------------------------------------------------------

// The value that keeps this one from being finite; GLINT_NODE_NONE when it has no alternatives.
static uint32_t culprit_of(const struct glint_grammar *grammar, uint32_t choice) {
    const struct glint_node *node = &grammar->nodes[choice];
    if (node->n == 0)
        return GLINT_NODE_NONE;
    const struct glint_link *link = &grammar->links[node->target];
    if (link->array != GLINT_NODE_NONE) {
        const struct glint_array *array = &grammar->arrays[link->array];
        for (uint32_t i = 0; i < array->n_items && i < array->least; i++) {
            uint32_t item = grammar->nodes[grammar->items[array->first_item + i]].target;
            if (grammar->nodes[item].height > GLINT_GRAMMAR_MAX_NESTING)
                return item;
        }
        return grammar->nodes[array->rest].target;
    }
    if (link->object == GLINT_NODE_NONE)
        return GLINT_NODE_NONE;
    const struct glint_object *object = &grammar->objects[link->object];
    for (uint32_t i = 0; i < object->n_members; i++) {
        const struct glint_member *member = &grammar->members[object->first_member + i];
        if (member->required && grammar->nodes[member->value].height > GLINT_GRAMMAR_MAX_NESTING)
            return member->value;
    }
    return GLINT_NODE_NONE;
}

enum glint_status glint_schema_check(const struct glint_schema_compiler *compiler, uint32_t choice,
                                     struct glint_error *err) {
    const struct glint_grammar *grammar = compiler->grammar;
    const struct glint_json *at = NULL;
    if (grammar->nodes[choice].height < GLINT_GRAMMAR_MAX_NESTING)
        return GLINT_OK;
    bool endless = true;
    for (int i = 0; i < GLINT_GRAMMAR_MAX_NESTING; i++) {
        uint32_t next = culprit_of(grammar, choice);
        endless = next != GLINT_NODE_NONE;
        if (!endless)
            break;
        choice = next;
    }
    for (uint32_t i = 0; i < compiler->n_values; i++)
        if (compiler->values[i].choice == choice && compiler->values[i].set.n > 0)
            at = compiler->values[i].set.schemas[0];
    return glint_schema_fail(&compiler->document, at, err, GLINT_E_UNSUPPORTED,
                             endless ? "every value would contain another one, without end (or "
                                       "nested more than 100 deep)"
                                     : "no value satisfies this");
}
