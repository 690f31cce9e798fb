// SPDX-License-Identifier: Apache-2.0
// matcher.c — stepping through a grammar.
// expand() goes from a node to the lexemes and symbols that may come there, through choices,
// calls and returns; it is the only place that touches the stack.
#include "sample/matcher.h"

#include "base/alloc.h"

#include <string.h>

enum { N_SEEN = 4096 };

bool glint_places_reserve(struct glint_places *places, size_t n) {
    if (n <= places->capacity)
        return true;
    size_t capacity = n > 2 * places->capacity ? n + 64 : 2 * places->capacity;
    struct glint_place *grown = glint_realloc(places->data, capacity, sizeof *grown);
    if (!grown)
        return false;
    places->data = grown;
    places->capacity = capacity;
    return true;
}

void glint_places_fini(struct glint_places *places) {
    glint_free(places->data);
    *places = (struct glint_places){.n = 0};
}

enum glint_status glint_matcher_init(struct glint_matcher *matcher,
                                     const struct glint_grammar *grammar, struct glint_error *err) {
    *matcher = (struct glint_matcher){.grammar = grammar, .n_frames = 1, .frame_capacity = 256};
    matcher->frames = glint_alloc(matcher->frame_capacity, sizeof *matcher->frames);
    matcher->n_slots = 2 * matcher->frame_capacity;
    matcher->slots = glint_alloc(matcher->n_slots, sizeof *matcher->slots);
    matcher->seen = glint_alloc(2 * N_SEEN, sizeof *matcher->seen);
    if (!matcher->frames || !matcher->slots || !matcher->seen) {
        glint_matcher_fini(matcher);
        return glint_fail(err, GLINT_E_NOMEM, "constraint: no memory");
    }
    matcher->frames[0] = (struct glint_frame){.next = GLINT_NODE_NONE};
    return GLINT_OK;
}

void glint_matcher_fini(struct glint_matcher *matcher) {
    glint_free(matcher->frames);
    glint_free(matcher->slots);
    glint_free(matcher->seen);
    *matcher = (struct glint_matcher){.n_frames = 0};
}

// ---- frames -----------------------------------------------------------------------------------

static uint32_t mix(uint32_t a, uint32_t b) {
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 29);
}

static uint32_t frame_hash(const struct glint_frame *f) {
    return mix(mix(mix(f->parent, f->next), f->member), f->n);
}

static bool frames_equal(const struct glint_frame *a, const struct glint_frame *b) {
    return a->parent == b->parent && a->next == b->next && a->member == b->member && a->n == b->n &&
           a->missing == b->missing && a->nesting == b->nesting;
}

static uint32_t frame_slot(const struct glint_matcher *m, const struct glint_frame *frame) {
    uint32_t mask = m->n_slots - 1, at = frame_hash(frame) & mask;
    while (m->slots[at] != 0 && !frames_equal(&m->frames[m->slots[at] - 1], frame))
        at = (at + 1) & mask;
    return at;
}

static bool grow_frames(struct glint_matcher *m) {
    if (m->frame_capacity > UINT32_MAX / 4)
        return false;
    uint32_t capacity = 2 * m->frame_capacity;
    struct glint_frame *frames = glint_realloc(m->frames, capacity, sizeof *frames);
    if (!frames)
        return false;
    m->frames = frames;
    uint32_t *slots = glint_alloc(2 * (size_t)capacity, sizeof *slots);
    if (!slots)
        return false;
    glint_free(m->slots);
    m->slots = slots;
    m->frame_capacity = capacity;
    m->n_slots = 2 * capacity;
    for (uint32_t i = 1; i < m->n_frames; i++)
        m->slots[frame_slot(m, &m->frames[i])] = i + 1;
    return true;
}

// Number of this frame; 0 on failure.
static uint32_t frame_of(struct glint_matcher *m, struct glint_frame frame) {
    uint32_t at = frame_slot(m, &frame);
    if (m->slots[at] != 0)
        return m->slots[at] - 1;
    if (m->n_frames == m->frame_capacity) {
        if (!grow_frames(m)) {
            m->failed = true;
            return 0;
        }
        at = frame_slot(m, &frame);
    }
    m->frames[m->n_frames] = frame;
    m->slots[at] = ++m->n_frames;
    return m->n_frames - 1;
}

// The call that a stack's marks stand on.
static uint32_t call_below(const struct glint_matcher *m, uint32_t frame) {
    while (frame != 0 && m->frames[frame].next == GLINT_NODE_NONE)
        frame = m->frames[frame].parent;
    return frame;
}

// A mark on the stack; before the first one, that of nothing written.
static struct glint_frame top_mark(const struct glint_matcher *m, uint32_t frame,
                                   uint32_t n_required) {
    struct glint_frame top = m->frames[frame];
    if (frame == 0 || top.next != GLINT_NODE_NONE)
        return (struct glint_frame){.missing = (uint16_t)n_required, .nesting = top.nesting};
    return top;
}

static bool was_written(const struct glint_matcher *m, uint32_t frame, uint32_t member) {
    for (; frame != 0 && m->frames[frame].next == GLINT_NODE_NONE; frame = m->frames[frame].parent)
        if (m->frames[frame].member == member)
            return true;
    return false;
}

// ---- sets -------------------------------------------------------------------------------------

static bool is_new(struct glint_matcher *m, const struct glint_places *out,
                   const struct glint_place *place) {
    uint32_t hash = mix(mix(place->node, place->state), mix(place->frame, place->count));
    for (uint32_t at = hash & (N_SEEN - 1);; at = (at + 1) & (N_SEEN - 1)) {
        if (m->seen[2 * at] != (uint32_t)m->generation) {
            m->seen[2 * at] = (uint32_t)m->generation;
            m->seen[2 * at + 1] = (uint32_t)(out->n - m->set_begin);
            return true;
        }
        const struct glint_place *other = &out->data[m->set_begin + m->seen[2 * at + 1]];
        if (other->node == place->node && other->state == place->state &&
            other->frame == place->frame && other->count == place->count)
            return false;
    }
}

// False: it is there already, or there is no room.
static bool add_place(struct glint_matcher *m, struct glint_place place, struct glint_places *out) {
    if (out->n - m->set_begin >= GLINT_MATCHER_MAX_PLACES)
        return false;
    if (!glint_places_reserve(out, out->n + 1)) {
        m->failed = true;
        return false;
    }
    if (!is_new(m, out, &place))
        return false;
    out->data[out->n++] = place;
    return true;
}

static void begin_set(struct glint_matcher *m, struct glint_places *out) {
    m->set_begin = out->n;
    m->generation++;
    if ((uint32_t)m->generation == 0) { // the table's stamps are 32 bits
        memset(m->seen, 0, 2 * N_SEEN * sizeof *m->seen);
        m->generation++;
    }
}

static void expand(struct glint_matcher *m, uint32_t i_node, uint32_t frame,
                   struct glint_places *out);

// Whether a value may be called on this stack and still be finished.
static bool fits(const struct glint_matcher *m, uint32_t frame, uint32_t choice) {
    uint32_t height = m->grammar->nodes[choice].height;
    return m->frames[frame].nesting + 1u + height <= GLINT_GRAMMAR_MAX_NESTING;
}

static void expand_lex(struct glint_matcher *m, uint32_t i_node, uint32_t frame,
                       struct glint_places *out) {
    const struct glint_node *node = &m->grammar->nodes[i_node];
    const struct glint_dfa_state *state = &m->grammar->dfa.states[node->target];
    if (m->no_self && node->flags & GLINT_LEX_TO_SELF)
        return;
    struct glint_place place = {i_node, node->target, 0, frame};
    bool leads_on = state->n_edges > 0 && node->most > 0;
    // JSON text that may have no characters still needs its closing quote.
    if (state->n_edges > 0 && !(state->flags & GLINT_DFA_ACCEPT))
        leads_on = true;
    bool added = leads_on && add_place(m, place, out);
    if (state->flags & GLINT_DFA_ACCEPT && node->least == 0 && (added || !leads_on))
        expand(m, node->next, frame, out);
}

// Members that may still come on this stack; to `out` unless it is NULL. True: some.
static bool offer_members(struct glint_matcher *m, const struct glint_object *object,
                          uint32_t frame, struct glint_places *out) {
    const struct glint_grammar *grammar = m->grammar;
    struct glint_frame top = top_mark(m, frame, object->n_required);
    bool any = false;
    if (top.n >= object->most)
        return false;
    bool only_required = object->most != GLINT_NO_LIMIT && top.n + top.missing >= object->most;
    for (uint32_t i = 0; i <= object->n_members; i++) {
        bool other = i == object->n_members;
        struct glint_member member = {object->other, object->other_value, false};
        if (!other)
            member = grammar->members[object->first_member + i];
        if (member.key == GLINT_NODE_NONE || (only_required && !member.required) ||
            !fits(m, frame, member.value) || (!other && was_written(m, frame, i)))
            continue;
        any = true;
        if (!out)
            return true;
        struct glint_frame mark = {.parent = frame,
                                   .next = GLINT_NODE_NONE,
                                   .member = other ? GLINT_NODE_NONE : i,
                                   .n = top.n + 1,
                                   .missing = (uint16_t)(top.missing - member.required),
                                   .nesting = top.nesting};
        // Keys that are not listed need no memory of them unless members are counted.
        bool counted = object->most != GLINT_NO_LIMIT || top.n < object->least;
        expand(m, member.key, other && !counted ? frame : frame_of(m, mark), out);
    }
    return any;
}

static void expand_members(struct glint_matcher *m, const struct glint_node *node, uint32_t frame,
                           struct glint_places *out) {
    const struct glint_object *object = &m->grammar->objects[node->target];
    struct glint_frame top = top_mark(m, frame, object->n_required);
    bool may_close = node->part != GLINT_PART_NEXT && top.missing == 0 && top.n >= object->least;
    if (node->part != GLINT_PART_AFTER)
        offer_members(m, object, frame, out);
    else if (offer_members(m, object, frame, NULL))
        expand(m, object->comma, frame, out);
    if (may_close)
        expand(m, node->part == GLINT_PART_FIRST ? object->close_first : object->close_after, frame,
               out);
}

static void expand_items(struct glint_matcher *m, const struct glint_node *node, uint32_t frame,
                         struct glint_places *out) {
    const struct glint_array *array = &m->grammar->arrays[node->target];
    struct glint_frame top = top_mark(m, frame, 0);
    uint32_t call =
        top.n < array->n_items ? m->grammar->items[array->first_item + top.n] : array->rest;
    bool may_go_on = call != GLINT_NODE_NONE && top.n < array->most &&
                     fits(m, frame, m->grammar->nodes[call].target);
    if (node->part == GLINT_PART_AFTER && may_go_on)
        expand(m, array->comma, frame, out);
    if (node->part != GLINT_PART_NEXT && top.n >= array->least)
        expand(m, node->part == GLINT_PART_FIRST ? array->close_first : array->close_after, frame,
               out);
    if (node->part == GLINT_PART_AFTER || !may_go_on)
        return;
    // Past every number that matters the count stays, so that stacks stay the same.
    uint32_t last = array->least > array->n_items ? array->least : array->n_items;
    uint32_t n = array->most == GLINT_NO_LIMIT && top.n >= last ? top.n : top.n + 1;
    struct glint_frame mark = {.parent = call_below(m, frame),
                               .next = GLINT_NODE_NONE,
                               .member = GLINT_NODE_NONE,
                               .n = n,
                               .nesting = top.nesting};
    expand(m, call, frame_of(m, mark), out);
}

static void expand_choice(struct glint_matcher *m, const struct glint_node *node, uint32_t frame,
                          struct glint_places *out) {
    unsigned nesting = m->frames[frame].nesting;
    for (uint32_t i = 0; i < node->n; i++) {
        const struct glint_link *link = &m->grammar->links[node->target + i];
        if (nesting + link->height <= GLINT_GRAMMAR_MAX_NESTING)
            expand(m, link->node, frame, out);
    }
}

// Depth: calls and choices follow each other without a byte between only as far as the grammar
// nests them, and values begin with one.
static void expand(struct glint_matcher *m, uint32_t i_node, uint32_t frame,
                   struct glint_places *out) {
    const struct glint_node *node = &m->grammar->nodes[i_node];
    if (m->failed)
        return;
    switch ((enum glint_node_kind)node->kind) {
    case GLINT_NODE_LEX:
        expand_lex(m, i_node, frame, out);
        break;
    case GLINT_NODE_CALL: {
        struct glint_frame call = {.parent = frame,
                                   .next = node->next,
                                   .member = GLINT_NODE_NONE,
                                   .nesting = (uint16_t)(m->frames[frame].nesting + 1)};
        expand(m, node->target, frame_of(m, call), out);
        break;
    }
    case GLINT_NODE_CHOICE:
        expand_choice(m, node, frame, out);
        break;
    case GLINT_NODE_RETURN: {
        uint32_t call = call_below(m, frame);
        if (call != 0)
            expand(m, m->frames[call].next, m->frames[call].parent, out);
        break;
    }
    case GLINT_NODE_MEMBERS:
        expand_members(m, node, frame, out);
        break;
    case GLINT_NODE_ITEMS:
        expand_items(m, node, frame, out);
        break;
    case GLINT_NODE_SYMBOL:
    case GLINT_NODE_STOP:
        add_place(m, (struct glint_place){.node = i_node, .frame = frame}, out);
        break;
    }
}

void glint_matcher_start(struct glint_matcher *matcher, uint32_t node, struct glint_places *out) {
    begin_set(matcher, out);
    expand(matcher, node, 0, out);
}

// One place over one byte.
static void step_place(struct glint_matcher *m, struct glint_place place, uint8_t byte,
                       struct glint_places *out) {
    const struct glint_node *node = &m->grammar->nodes[place.node];
    if (node->kind != GLINT_NODE_LEX)
        return;
    uint32_t state = glint_dfa_step(&m->grammar->dfa, place.state, byte);
    if (state == GLINT_DFA_NONE)
        return;
    const struct glint_dfa_state *to = &m->grammar->dfa.states[state];
    bool counts = node->most != GLINT_NO_LIMIT || node->least > 0;
    if (counts) {
        bool leaves = to->flags & GLINT_DFA_ACCEPT && !(to->flags & GLINT_DFA_BOUNDARY);
        // At the limit only the way out is left; a character that began would not fit.
        if (!leaves && place.count >= node->most &&
            m->grammar->dfa.states[place.state].flags & GLINT_DFA_BOUNDARY)
            return;
        bool stays = node->most == GLINT_NO_LIMIT && place.count >= node->least;
        place.count += to->flags & GLINT_DFA_BOUNDARY && !stays;
        if (leaves && place.count < node->least)
            return;
    }
    place.state = state;
    bool added = to->n_edges > 0 && add_place(m, place, out);
    if (to->flags & GLINT_DFA_ACCEPT && (added || to->n_edges == 0) &&
        (!counts || place.count >= node->least))
        expand(m, node->next, place.frame, out);
}

void glint_matcher_step(struct glint_matcher *matcher, size_t begin, size_t end, uint8_t byte,
                        struct glint_places *out) {
    begin_set(matcher, out);
    for (size_t i = begin; i < end; i++)
        step_place(matcher, out->data[i], byte, out);
}

void glint_matcher_symbol(struct glint_matcher *matcher, size_t begin, size_t end, unsigned symbol,
                          struct glint_places *out) {
    begin_set(matcher, out);
    for (size_t i = begin; i < end; i++) {
        struct glint_place place = out->data[i];
        const struct glint_node *node = &matcher->grammar->nodes[place.node];
        if (node->kind == GLINT_NODE_SYMBOL && node->target == symbol)
            expand(matcher, node->next, place.frame, out);
    }
}

void glint_matcher_leave(struct glint_matcher *matcher, struct glint_place place,
                         struct glint_places *out) {
    begin_set(matcher, out);
    expand(matcher, matcher->grammar->nodes[place.node].next, place.frame, out);
}
