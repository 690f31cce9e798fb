// SPDX-License-Identifier: Apache-2.0
// text_dfa.c — see text_dfa.h. Each automaton is a step function over a packed state.
#include "sample/text_dfa.h"

#include <string.h>

const char glint_closer_text[] = "</atem:parameter>";

// How far a text that ended in the first `at` bytes of the closer is into it now. Only its first
// byte is a "<", so a mismatch starts over. The whole closer: -1.
static int closer_step(int at, uint8_t byte) {
    if (byte != (uint8_t)glint_closer_text[at])
        return byte == '<';
    return glint_closer_text[at + 1] ? at + 1 : -1;
}

// ---- any text ---------------------------------------------------------------------------------

enum text_state {
    TEXT_NORMAL,
    TEXT_TAIL1, // one byte of a character is missing
    TEXT_TAIL2,
    TEXT_TAIL3,
    TEXT_E0, // the second byte is restricted
    TEXT_ED,
    TEXT_F0,
    TEXT_F4,
    TEXT_ESCAPE, // behind a backslash
    TEXT_HEX4,   // behind \u
    TEXT_HEX3,
    TEXT_HEX2,
    TEXT_HEX1,
    TEXT_HEX3_D,    // behind \ud
    TEXT_HEX2_HIGH, // inside a high surrogate
    TEXT_HEX1_HIGH,
    TEXT_LOW_SLASH, // a low surrogate must follow
    TEXT_LOW_U,
    TEXT_LOW_D,
    TEXT_LOW_CF,
    TEXT_CLOSED, // behind the closing quote
};

struct text_context {
    enum glint_spelling spelling;
    bool without_closer;
};

static bool is_hex(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
           (byte >= 'A' && byte <= 'F');
}

static int in_range(uint8_t byte, uint8_t low, uint8_t high, int next) {
    return byte >= low && byte <= high ? next : -1;
}

static int step_normal(uint8_t byte, bool json) {
    if (json && byte == '"')
        return TEXT_CLOSED;
    if (json && byte == '\\')
        return TEXT_ESCAPE;
    if (byte < 0x80)
        return json && byte < 0x20 ? -1 : TEXT_NORMAL;
    if (byte < 0xe0)
        return byte >= 0xc2 ? TEXT_TAIL1 : -1;
    if (byte < 0xf0)
        return byte == 0xe0 ? TEXT_E0 : byte == 0xed ? TEXT_ED : TEXT_TAIL2;
    if (byte > 0xf4)
        return -1;
    return byte == 0xf0 ? TEXT_F0 : byte == 0xf4 ? TEXT_F4 : TEXT_TAIL3;
}

static int step_escape(int state, uint8_t byte) {
    bool d = byte == 'd' || byte == 'D';
    switch (state) {
    case TEXT_ESCAPE:
        if (byte == 'u')
            return TEXT_HEX4;
        return byte && strchr("\"\\/bfnrt", byte) ? TEXT_NORMAL : -1;
    case TEXT_LOW_SLASH:
        return byte == '\\' ? TEXT_LOW_U : -1;
    case TEXT_LOW_U:
        return byte == 'u' ? TEXT_LOW_D : -1;
    case TEXT_LOW_D:
        return d ? TEXT_LOW_CF : -1;
    default:
        break;
    }
    if (!is_hex(byte))
        return -1;
    switch (state) {
    case TEXT_HEX4:
        return d ? TEXT_HEX3_D : TEXT_HEX3;
    case TEXT_HEX3:
        return TEXT_HEX2;
    case TEXT_HEX2:
        return TEXT_HEX1;
    case TEXT_HEX1:
        return TEXT_NORMAL;
    case TEXT_HEX3_D:
        if (byte <= '7')
            return TEXT_HEX2;
        return byte == '8' || byte == '9' || (byte | 0x20) == 'a' || (byte | 0x20) == 'b'
                   ? TEXT_HEX2_HIGH
                   : -1;
    case TEXT_HEX2_HIGH:
        return TEXT_HEX1_HIGH;
    case TEXT_HEX1_HIGH:
        return TEXT_LOW_SLASH;
    default: // TEXT_LOW_CF
        return (byte | 0x20) >= 'c' && (byte | 0x20) <= 'f' ? TEXT_HEX2 : -1;
    }
}

static int step_text(int state, uint8_t byte, bool json) {
    switch (state) {
    case TEXT_NORMAL:
        return step_normal(byte, json);
    case TEXT_TAIL1:
        return in_range(byte, 0x80, 0xbf, TEXT_NORMAL);
    case TEXT_TAIL2:
        return in_range(byte, 0x80, 0xbf, TEXT_TAIL1);
    case TEXT_TAIL3:
        return in_range(byte, 0x80, 0xbf, TEXT_TAIL2);
    case TEXT_E0:
        return in_range(byte, 0xa0, 0xbf, TEXT_TAIL1);
    case TEXT_ED:
        return in_range(byte, 0x80, 0x9f, TEXT_TAIL1);
    case TEXT_F0:
        return in_range(byte, 0x90, 0xbf, TEXT_TAIL2);
    case TEXT_F4:
        return in_range(byte, 0x80, 0x8f, TEXT_TAIL2);
    case TEXT_CLOSED:
        return -1;
    default:
        return step_escape(state, byte);
    }
}

static uint64_t text_step(void *context, uint64_t state, uint8_t byte) {
    const struct text_context *text = context;
    int at = (int)(state >> 8), now = (int)(state & 255);
    int next = step_text(now, byte, text->spelling == GLINT_SPELL_JSON);
    at = text->without_closer && now == TEXT_NORMAL ? closer_step(at, byte) : 0;
    if (next < 0 || at < 0)
        return GLINT_MACHINE_DEAD;
    return (uint64_t)(next == TEXT_NORMAL ? at : 0) << 8 | (uint64_t)next;
}

static unsigned text_flags(void *context, uint64_t state) {
    const struct text_context *text = context;
    if ((state & 255) == TEXT_CLOSED)
        return GLINT_DFA_ACCEPT;
    if ((state & 255) != TEXT_NORMAL)
        return 0;
    return text->spelling == GLINT_SPELL_RAW ? GLINT_DFA_ACCEPT | GLINT_DFA_BOUNDARY
                                             : GLINT_DFA_BOUNDARY;
}

uint32_t glint_dfa_text(struct glint_dfa *dfa, enum glint_spelling spelling, bool without_closer) {
    struct text_context context = {spelling, without_closer};
    struct glint_machine machine = {
        .context = &context, .start = TEXT_NORMAL, .step = text_step, .flags = text_flags};
    uint32_t start;
    glint_dfa_build(dfa, &machine, &start);
    return start;
}

static uint64_t any_step(void *context, uint64_t state, uint8_t byte) {
    (void)context;
    (void)byte;
    return state;
}

static unsigned any_flags(void *context, uint64_t state) {
    (void)context;
    (void)state;
    return GLINT_DFA_ACCEPT;
}

uint32_t glint_dfa_any(struct glint_dfa *dfa) {
    struct glint_machine machine = {.start = 0, .step = any_step, .flags = any_flags};
    uint32_t start;
    glint_dfa_build(dfa, &machine, &start);
    return start;
}

// ---- patterns ---------------------------------------------------------------------------------

// Packed: set of pattern 0 (20 bits), of pattern 1 (20), characters so far (17), place in the
// closer (5), closed (1).
struct pattern_state {
    uint32_t sets[2];
    uint32_t n_chars;
    int at;
    bool closed;
};

enum { SET_BITS = 20, COUNT_BITS = 17 };

static uint64_t pack(const struct pattern_state *s) {
    return (uint64_t)s->sets[0] | (uint64_t)s->sets[1] << SET_BITS |
           (uint64_t)s->n_chars << 2 * SET_BITS | (uint64_t)s->at << (2 * SET_BITS + COUNT_BITS) |
           (uint64_t)s->closed << 62;
}

static struct pattern_state unpack(uint64_t word) {
    return (struct pattern_state){
        .sets = {word & ((1u << SET_BITS) - 1), word >> SET_BITS & ((1u << SET_BITS) - 1)},
        .n_chars = (uint32_t)(word >> 2 * SET_BITS & ((1u << COUNT_BITS) - 1)),
        .at = (int)(word >> (2 * SET_BITS + COUNT_BITS) & 31),
        .closed = word >> 62 & 1,
    };
}

static bool pattern_is_boundary(const struct glint_text_rule *rule, const struct pattern_state *s) {
    return glint_nfa_is_boundary(&rule->patterns[0], s->sets[0]);
}

static bool pattern_may_end(const struct glint_text_rule *rule, const struct pattern_state *s) {
    bool may = !s->closed && pattern_is_boundary(rule, s) && s->n_chars >= rule->least;
    for (unsigned i = 0; may && i < rule->n_patterns; i++)
        may = glint_nfa_accepts(&rule->patterns[i], s->sets[i]);
    return may;
}

static uint64_t pattern_step(void *context, uint64_t word, uint8_t byte) {
    const struct glint_text_rule *rule = context;
    struct pattern_state s = unpack(word);
    if (s.closed)
        return GLINT_MACHINE_DEAD;
    if (rule->spelling == GLINT_SPELL_JSON && byte == '"' && pattern_is_boundary(rule, &s)) {
        struct pattern_state closed = {.closed = true};
        return pattern_may_end(rule, &s) ? pack(&closed) : GLINT_MACHINE_DEAD;
    }
    s.at = rule->without_closer ? closer_step(s.at, byte) : 0;
    for (unsigned i = 0; i < rule->n_patterns; i++) {
        s.sets[i] = glint_nfa_step(&rule->patterns[i], s.sets[i], byte);
        if (s.sets[i] >= 1u << SET_BITS)
            return GLINT_MACHINE_DEAD;
    }
    bool limited = rule->most != UINT32_MAX;
    if (pattern_is_boundary(rule, &s) && (limited || s.n_chars < rule->least))
        s.n_chars++;
    return s.at < 0 || (limited && s.n_chars > rule->most) ? GLINT_MACHINE_DEAD : pack(&s);
}

static unsigned pattern_flags(void *context, uint64_t word) {
    const struct glint_text_rule *rule = context;
    struct pattern_state s = unpack(word);
    if (rule->spelling == GLINT_SPELL_JSON)
        return s.closed ? GLINT_DFA_ACCEPT : 0;
    return pattern_may_end(rule, &s) ? GLINT_DFA_ACCEPT | GLINT_DFA_BOUNDARY : 0;
}

// Bytes at which some pattern, the closer or the quoting begins to tell bytes apart.
static void find_classes(const struct glint_text_rule *rule, bool begins[256]) {
    memset(begins, 0, 256 * sizeof *begins);
    for (unsigned i = 0; i < rule->n_patterns; i++)
        for (uint32_t j = 0; j < rule->patterns[i].n; j++) {
            const struct glint_nfa_node *node = &rule->patterns[i].nodes[j];
            if (node->kind != GLINT_NFA_BYTES)
                continue;
            begins[node->low] = true;
            begins[(node->high + 1) & 255] = true;
        }
    begins['"'] = begins['"' + 1] = true;
    for (const char *c = glint_closer_text; rule->without_closer && *c; c++)
        begins[(uint8_t)*c] = begins[(uint8_t)*c + 1] = true;
}

enum glint_machine_fit glint_dfa_pattern(struct glint_dfa *dfa, const struct glint_text_rule *rule,
                                         uint32_t *start) {
    bool begins[256];
    struct pattern_state first = {.closed = false};
    struct glint_text_rule own = *rule;
    *start = GLINT_DFA_NONE;
    if (rule->least > rule->most)
        return GLINT_MACHINE_EMPTY;
    if ((rule->most != UINT32_MAX && rule->most >= 1u << COUNT_BITS) ||
        rule->least >= 1u << COUNT_BITS)
        return GLINT_MACHINE_LARGE;
    for (unsigned i = 0; i < rule->n_patterns; i++) {
        first.sets[i] = glint_nfa_start(&rule->patterns[i]);
        dfa->failed = dfa->failed || rule->patterns[i].failed;
        if (first.sets[i] == UINT32_MAX)
            return GLINT_MACHINE_EMPTY;
    }
    find_classes(rule, begins);
    struct glint_machine machine = {.context = &own,
                                    .start = pack(&first),
                                    .step = pattern_step,
                                    .flags = pattern_flags,
                                    .begins = begins};
    enum glint_machine_fit fit = glint_dfa_build(dfa, &machine, start);
    for (unsigned i = 0; i < rule->n_patterns; i++) {
        dfa->failed = dfa->failed || rule->patterns[i].failed;
        fit = rule->patterns[i].exhausted ? GLINT_MACHINE_LARGE : fit;
    }
    return fit;
}

// ---- words that are not in a list -------------------------------------------------------------

// A state while the text is a prefix of some word: the range of words with that prefix (begin and
// end 24 bits each) and its length (13 bits). Afterwards a state of text_step with the top bit
// set.
struct other_context {
    const struct glint_view *words;
    struct text_context text;
};

#define OTHER_FREE ((uint64_t)1 << 62)

static uint64_t other_free(struct other_context *other, uint64_t state, uint8_t byte) {
    uint64_t next = text_step(&other->text, state, byte);
    return next == GLINT_MACHINE_DEAD || next == TEXT_ESCAPE ? GLINT_MACHINE_DEAD
                                                             : next | OTHER_FREE;
}

static uint64_t other_step(void *context, uint64_t state, uint8_t byte) {
    struct other_context *other = context;
    if (state & OTHER_FREE)
        return other_free(other, state & ~OTHER_FREE, byte);
    size_t begin = state & 0xffffff, end = state >> 24 & 0xffffff, n = state >> 48;
    const struct glint_view *words = other->words;
    if (byte == '"') {
        bool listed = false;
        for (size_t i = begin; i < end; i++)
            listed = listed || words[i].n == n;
        return listed ? GLINT_MACHINE_DEAD : OTHER_FREE | TEXT_CLOSED;
    }
    // In the middle of a character of the words there is no way out.
    bool inside =
        begin < end && words[end - 1].n > n && ((uint8_t)words[end - 1].data[n] & 0xc0) == 0x80;
    while (begin < end && (words[begin].n <= n || (uint8_t)words[begin].data[n] != byte))
        begin++;
    size_t last = begin;
    while (last < end && words[last].n > n && (uint8_t)words[last].data[n] == byte)
        last++;
    if (last > begin)
        return (uint64_t)begin | (uint64_t)last << 24 | (uint64_t)(n + 1) << 48;
    return inside ? GLINT_MACHINE_DEAD : other_free(other, TEXT_NORMAL, byte);
}

static unsigned other_flags(void *context, uint64_t state) {
    (void)context;
    return state == (OTHER_FREE | TEXT_CLOSED) ? GLINT_DFA_ACCEPT : 0;
}

enum glint_machine_fit glint_dfa_other_word(struct glint_dfa *dfa, struct glint_view *words,
                                            size_t n, uint32_t *start) {
    struct other_context other = {words, {GLINT_SPELL_JSON, false}};
    *start = GLINT_DFA_NONE;
    if (n >= 1 << 24)
        return GLINT_MACHINE_LARGE;
    for (size_t i = 0; i < n; i++)
        if (words[i].n >= 1 << 13)
            return GLINT_MACHINE_LARGE;
    glint_dfa_sort(words, n);
    struct glint_machine machine = {
        .context = &other, .start = (uint64_t)n << 24, .step = other_step, .flags = other_flags};
    return glint_dfa_build(dfa, &machine, start);
}
