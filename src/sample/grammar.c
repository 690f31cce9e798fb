// SPDX-License-Identifier: Apache-2.0
// grammar.c — building a grammar, and how deep its values must nest.
#include "sample/grammar.h"

#include "base/alloc.h"
#include "sample/text_dfa.h"

enum glint_status glint_grammar_init(struct glint_grammar *grammar, struct glint_error *err) {
    *grammar = (struct glint_grammar){.root = GLINT_NODE_NONE};
    struct glint_dfa *dfa = &grammar->dfa;
    grammar->any = glint_dfa_any(dfa);
    grammar->json_text = glint_dfa_text(dfa, GLINT_SPELL_JSON, false);
    grammar->json_text_closed = glint_dfa_text(dfa, GLINT_SPELL_JSON, true);
    grammar->raw_text = glint_dfa_text(dfa, GLINT_SPELL_RAW, true);
    grammar->n_shared = (uint32_t)dfa->n_states;
    if (!dfa->failed)
        return GLINT_OK;
    glint_grammar_fini(grammar);
    return glint_fail(err, GLINT_E_NOMEM, "grammar: no memory");
}

void glint_grammar_fini(struct glint_grammar *grammar) {
    glint_dfa_fini(&grammar->dfa);
    glint_free(grammar->nodes);
    glint_free(grammar->links);
    glint_free(grammar->members);
    glint_free(grammar->objects);
    glint_free(grammar->arrays);
    glint_free(grammar->items);
    *grammar = (struct glint_grammar){.n_nodes = 0};
}

// Room for n more at the end of a list; the new block, or NULL and failed.
static void *room(struct glint_grammar *grammar, void *block, uint32_t *capacity, uint32_t n,
                  size_t size) {
    if (grammar->failed || n > GLINT_GRAMMAR_MAX_NODES) {
        grammar->failed = true;
        return NULL;
    }
    if (n <= *capacity)
        return block;
    uint32_t larger = n > 2 * *capacity ? n + 32 : 2 * *capacity;
    void *grown = glint_realloc(block, larger, size);
    if (!grown)
        grammar->failed = true;
    else
        *capacity = larger;
    return grown;
}

// Appends `value` to grammar->LIST and gives its index.
#define APPEND(grammar, list, n_list, capacity, value)                                             \
    do {                                                                                           \
        void *block = room(grammar, (grammar)->list, &(grammar)->capacity, (grammar)->n_list + 1,  \
                           sizeof *(grammar)->list);                                               \
        if (!block)                                                                                \
            return GLINT_NODE_NONE;                                                                \
        (grammar)->list = block;                                                                   \
        (grammar)->list[(grammar)->n_list] = (value);                                              \
        return (grammar)->n_list++;                                                                \
    } while (0)

uint32_t glint_grammar_add(struct glint_grammar *grammar, struct glint_node node) {
    APPEND(grammar, nodes, n_nodes, node_capacity, node);
}

uint32_t glint_grammar_add_member(struct glint_grammar *grammar, struct glint_member member) {
    APPEND(grammar, members, n_members, member_capacity, member);
}

uint32_t glint_grammar_add_item(struct glint_grammar *grammar, uint32_t call) {
    APPEND(grammar, items, n_items, item_capacity, call);
}

uint32_t glint_grammar_add_object(struct glint_grammar *grammar, struct glint_object object) {
    APPEND(grammar, objects, n_objects, object_capacity, object);
}

uint32_t glint_grammar_add_array(struct glint_grammar *grammar, struct glint_array array) {
    APPEND(grammar, arrays, n_arrays, array_capacity, array);
}

uint32_t glint_grammar_lex(struct glint_grammar *grammar, uint32_t start, uint32_t next) {
    return glint_grammar_add(grammar, (struct glint_node){.kind = GLINT_NODE_LEX,
                                                          .target = start,
                                                          .next = next,
                                                          .most = GLINT_NO_LIMIT});
}

uint32_t glint_grammar_text(struct glint_grammar *grammar, const char *text, uint32_t next) {
    uint32_t start = glint_dfa_literal(&grammar->dfa, glint_view_of(text));
    return glint_grammar_lex(grammar, start, next);
}

uint32_t glint_grammar_call(struct glint_grammar *grammar, uint32_t choice, uint32_t next) {
    return glint_grammar_add(
        grammar, (struct glint_node){.kind = GLINT_NODE_CALL, .target = choice, .next = next});
}

uint32_t glint_grammar_symbol(struct glint_grammar *grammar, unsigned symbol, uint32_t next) {
    return glint_grammar_add(
        grammar, (struct glint_node){.kind = GLINT_NODE_SYMBOL, .target = symbol, .next = next});
}

void glint_grammar_set_choice(struct glint_grammar *grammar, uint32_t choice,
                              const struct glint_link *links, uint32_t n) {
    if (grammar->failed || choice == GLINT_NODE_NONE || n > GLINT_GRAMMAR_MAX_NODES) {
        grammar->failed = true;
        return;
    }
    void *block = room(grammar, grammar->links, &grammar->link_capacity, grammar->n_links + n,
                       sizeof *grammar->links);
    if (!block && n > 0)
        return;
    grammar->links = block;
    grammar->nodes[choice].target = grammar->n_links;
    grammar->nodes[choice].n = n;
    for (uint32_t i = 0; i < n; i++)
        grammar->links[grammar->n_links++] = links[i];
}

// ---- heights ----------------------------------------------------------------------------------

static uint16_t above(uint16_t height) {
    return height >= GLINT_HEIGHT_NONE - 1 ? GLINT_HEIGHT_NONE : (uint16_t)(height + 1);
}

static uint16_t larger(uint16_t a, uint16_t b) {
    return a > b ? a : b;
}

static uint16_t object_height(const struct glint_grammar *grammar,
                              const struct glint_object *object) {
    uint16_t height = 0;
    uint32_t n_finite = 0;
    for (uint32_t i = 0; i < object->n_members; i++) {
        const struct glint_member *member = &grammar->members[object->first_member + i];
        uint16_t value = grammar->nodes[member->value].height;
        n_finite += value != GLINT_HEIGHT_NONE;
        if (member->required)
            height = larger(height, above(value));
    }
    // Members beyond the required ones count by the shallowest there are.
    if (object->least <= object->n_required)
        return height;
    bool other = object->other != GLINT_NODE_NONE &&
                 grammar->nodes[object->other_value].height != GLINT_HEIGHT_NONE;
    if (!other && n_finite < object->least)
        return GLINT_HEIGHT_NONE;
    for (uint32_t i = 0; i < object->n_members; i++) {
        uint16_t value = grammar->nodes[grammar->members[object->first_member + i].value].height;
        height = value == GLINT_HEIGHT_NONE ? height : larger(height, above(value));
    }
    return other ? larger(height, above(grammar->nodes[object->other_value].height)) : height;
}

static uint16_t array_height(const struct glint_grammar *grammar, const struct glint_array *array) {
    uint16_t height = 0;
    for (uint32_t i = 0; i < array->least; i++) {
        uint32_t call = i < array->n_items ? grammar->items[array->first_item + i] : array->rest;
        uint16_t item = call == GLINT_NODE_NONE
                            ? GLINT_HEIGHT_NONE
                            : grammar->nodes[grammar->nodes[call].target].height;
        height = larger(height, above(item));
        if (i >= array->n_items)
            break; // the others are like this one
    }
    return height;
}

static bool lower(uint16_t *height, uint16_t found) {
    if (found >= *height)
        return false;
    *height = found;
    return true;
}

void glint_grammar_measure(struct glint_grammar *grammar) {
    for (uint32_t i = 0; i < grammar->n_nodes; i++)
        grammar->nodes[i].height = GLINT_HEIGHT_NONE;
    // Values mostly come before what is in them, so going backwards few passes are needed; what
    // takes more nests too deep anyway.
    bool changed = true;
    for (int pass = 0; changed && pass <= GLINT_GRAMMAR_MAX_NESTING; pass++) {
        changed = false;
        for (uint32_t i = grammar->n_nodes; i-- > 0;) {
            struct glint_node *node = &grammar->nodes[i];
            for (uint32_t j = 0; node->kind == GLINT_NODE_CHOICE && j < node->n; j++) {
                struct glint_link *link = &grammar->links[node->target + j];
                link->height = 0;
                if (link->object != GLINT_NODE_NONE)
                    link->height = object_height(grammar, &grammar->objects[link->object]);
                if (link->array != GLINT_NODE_NONE)
                    link->height = array_height(grammar, &grammar->arrays[link->array]);
                changed = lower(&node->height, link->height) || changed;
            }
        }
    }
}
