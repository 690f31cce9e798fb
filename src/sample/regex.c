// SPDX-License-Identifier: Apache-2.0
// regex.c — reads a pattern and builds its nondeterministic automaton on the way. A counted
// repetition reads its atom's text again for each copy.
#include "sample/regex.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "sample/char_set.h"
#include "sample/nfa_set.h"

#include <string.h>

enum { MAX_NODES = 40000, MAX_DEPTH = 64, MAX_REPEAT = 1000 };
#define NOWHERE UINT32_MAX

struct fragment { // end: a SPLIT node with nothing behind it yet
    uint32_t start, end;
};

struct reader {
    struct glint_view text;
    size_t at;
    struct glint_nfa *nfa;
    enum glint_spelling spelling;
    unsigned depth;
    struct glint_error *err;
};

static enum glint_status read_alternatives(struct reader *r, struct fragment *out);

static enum glint_status refuse(struct reader *r, enum glint_status status, const char *what) {
    return glint_fail(r->err, status, "%s at offset %zu of the pattern", what, r->at);
}

static enum glint_status add_node(struct reader *r, struct glint_nfa_node node, uint32_t *out) {
    struct glint_nfa *nfa = r->nfa;
    if (nfa->n == MAX_NODES)
        return refuse(r, GLINT_E_LIMIT, "repetitions are too many");
    if (nfa->n == nfa->capacity) {
        uint32_t capacity = nfa->capacity ? 2 * nfa->capacity : 64;
        void *grown = glint_realloc(nfa->nodes, capacity, sizeof *nfa->nodes);
        if (!grown)
            return glint_fail(r->err, GLINT_E_NOMEM, "pattern: no memory");
        nfa->nodes = grown;
        nfa->capacity = capacity;
    }
    nfa->nodes[nfa->n] = node;
    *out = nfa->n++;
    return GLINT_OK;
}

static enum glint_status add_split(struct reader *r, uint32_t out, uint32_t out2, uint32_t *node) {
    return add_node(r, (struct glint_nfa_node){.kind = GLINT_NFA_SPLIT, .out = out, .out2 = out2},
                    node);
}

// ---- characters -------------------------------------------------------------------------------

struct byte_range {
    uint8_t low, high;
};

// A chain of byte ranges from start to end. start: a SPLIT node to hang it on.
static enum glint_status add_chain(struct reader *r, const struct byte_range *bytes, unsigned n,
                                   struct fragment between) {
    uint32_t next = between.end;
    for (unsigned i = n; i-- > 0;) {
        struct glint_nfa_node node = {.kind = GLINT_NFA_BYTES,
                                      .low = bytes[i].low,
                                      .high = bytes[i].high,
                                      .inner = i > 0,
                                      .out = next,
                                      .out2 = NOWHERE};
        GLINT_TRY(add_node(r, node, &next));
    }
    // Hang it on the start: a list of splits, the last of which is free.
    uint32_t free = between.start;
    while (r->nfa->nodes[free].out != NOWHERE)
        free = r->nfa->nodes[free].out2;
    uint32_t more;
    GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &more));
    r->nfa->nodes[free].out = next;
    r->nfa->nodes[free].out2 = more;
    return GLINT_OK;
}

// Code points of one UTF-8 length whose sequences are not yet known to be a product of ranges.
static enum glint_status add_utf8(struct reader *r, uint32_t low, uint32_t high,
                                  struct fragment between) {
    char a[GLINT_UTF8_MAX], b[GLINT_UTF8_MAX];
    unsigned n = glint_utf8_put(low, a);
    // Split where the bytes below a prefix do not run over their whole range.
    for (unsigned tail = n - 1; tail > 0; tail--) {
        uint32_t mask = (1u << (6 * tail)) - 1;
        if ((low & ~mask) == (high & ~mask))
            continue;
        if ((low & mask) != 0) {
            GLINT_TRY(add_utf8(r, low, low | mask, between));
            return add_utf8(r, (low | mask) + 1, high, between);
        }
        if ((high & mask) != mask) {
            GLINT_TRY(add_utf8(r, low, (high & ~mask) - 1, between));
            return add_utf8(r, high & ~mask, high, between);
        }
    }
    glint_utf8_put(high, b);
    struct byte_range bytes[GLINT_UTF8_MAX];
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (struct byte_range){(uint8_t)a[i], (uint8_t)b[i]};
    return add_chain(r, bytes, n, between);
}

static enum glint_status add_raw(struct reader *r, uint32_t low, uint32_t high,
                                 struct fragment between) {
    static const uint32_t ends[] = {0x7f, 0x7ff, 0xd7ff, 0xdfff, 0xffff, 0x10ffff};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends && low <= high; i++) {
        uint32_t end = high < ends[i] ? high : ends[i];
        if (low > end)
            continue;
        if (ends[i] != 0xdfff) // surrogates are no characters
            GLINT_TRY(add_utf8(r, low, end, between));
        low = end + 1;
    }
    return GLINT_OK;
}

// One character that JSON strings escape, in its shortest spelling.
static enum glint_status add_escape(struct reader *r, uint32_t code, struct fragment between) {
    static const char letters[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\",
                      hex[] = "0123456789abcdef";
    const char *letter = code ? strchr(letters, (int)code) : NULL;
    char text[6] = {
        '\\',          letter ? names[letter - letters] : 'u', '0', '0', hex[code >> 4 & 15],
        hex[code & 15]};
    struct byte_range bytes[6];
    for (unsigned i = 0; i < 6; i++)
        bytes[i] = (struct byte_range){(uint8_t)text[i], (uint8_t)text[i]};
    return add_chain(r, bytes, letter ? 2 : 6, between);
}

static enum glint_status add_range(struct reader *r, uint32_t low, uint32_t high,
                                   struct fragment between) {
    while (r->spelling == GLINT_SPELL_JSON && low <= high && low <= '\\') {
        if (low < 0x20 || low == '"' || low == '\\') {
            GLINT_TRY(add_escape(r, low, between));
            low++;
            continue;
        }
        uint32_t end = low < '"' ? '"' - 1 : '\\' - 1;
        end = high < end ? high : end;
        GLINT_TRY(add_raw(r, low, end, between));
        low = end + 1;
    }
    return low <= high ? add_raw(r, low, high, between) : GLINT_OK;
}

static enum glint_status add_set(struct reader *r, struct glint_char_set *set,
                                 struct fragment *out) {
    GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &out->start));
    GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &out->end));
    glint_char_set_close(set);
    for (unsigned i = 0; i < set->n; i++)
        GLINT_TRY(add_range(r, set->ranges[i].low, set->ranges[i].high, *out));
    return GLINT_OK;
}

// ---- the pattern ------------------------------------------------------------------------------

static bool looking_at(const struct reader *r, const char *text) {
    struct glint_view rest = {.data = r->text.data + r->at, .n = r->text.n - r->at};
    return glint_view_starts(rest, text);
}

static enum glint_status read_group(struct reader *r, struct fragment *out) {
    if (r->depth == MAX_DEPTH)
        return refuse(r, GLINT_E_LIMIT, "groups are nested too deep");
    if (looking_at(r, "(?=") || looking_at(r, "(?!") || looking_at(r, "(?<=") ||
        looking_at(r, "(?<!"))
        return refuse(r, GLINT_E_UNSUPPORTED, "look-around");
    if (looking_at(r, "(?:")) {
        r->at += 3;
    } else if (looking_at(r, "(?<")) {
        while (r->at < r->text.n && r->text.data[r->at] != '>')
            r->at++;
        r->at++;
    } else if (looking_at(r, "(?")) {
        return refuse(r, GLINT_E_UNSUPPORTED, "a group with flags");
    } else {
        r->at++;
    }
    r->depth++;
    GLINT_TRY(read_alternatives(r, out));
    r->depth--;
    if (!looking_at(r, ")"))
        return refuse(r, GLINT_E_FORMAT, "missing \")\"");
    r->at++;
    return GLINT_OK;
}

static enum glint_status read_class(struct reader *r, struct fragment *out) {
    struct glint_char_set set = {.n = 0};
    r->at++;
    if (looking_at(r, "^")) {
        set.negated = true;
        r->at++;
    }
    while (!looking_at(r, "]")) {
        uint32_t low, high;
        if (r->at >= r->text.n)
            return refuse(r, GLINT_E_FORMAT, "missing \"]\"");
        GLINT_TRY(glint_char_set_read(&set, r->text, &r->at, &low, r->err));
        if (low == GLINT_CHAR_CLASS)
            continue; // \d and the like: already in the set
        high = low;
        if (looking_at(r, "-") && r->at + 1 < r->text.n && r->text.data[r->at + 1] != ']') {
            r->at++;
            GLINT_TRY(glint_char_set_read(&set, r->text, &r->at, &high, r->err));
            if (high == GLINT_CHAR_CLASS || high < low)
                return refuse(r, GLINT_E_FORMAT, "a range out of order before");
        }
        if (!glint_char_set_add(&set, low, high))
            return refuse(r, GLINT_E_LIMIT, "too many ranges in a class");
    }
    r->at++;
    return add_set(r, &set, out);
}

static enum glint_status read_anchor(struct reader *r, enum glint_nfa_kind kind,
                                     struct fragment *out) {
    struct glint_nfa_node node = {.kind = (uint8_t)kind, .out2 = NOWHERE};
    r->at++;
    GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &out->end));
    node.out = out->end;
    return add_node(r, node, &out->start);
}

static enum glint_status read_atom(struct reader *r, struct fragment *out) {
    struct glint_char_set set = {.n = 0};
    uint32_t code;
    switch (r->text.data[r->at]) {
    case '(':
        return read_group(r, out);
    case '[':
        return read_class(r, out);
    case '^':
        return read_anchor(r, GLINT_NFA_BEGIN, out);
    case '$':
        return read_anchor(r, GLINT_NFA_END, out);
    case '*':
    case '+':
    case '?':
        return refuse(r, GLINT_E_FORMAT, "nothing to repeat");
    case '.':
        r->at++;
        glint_char_set_add(&set, '\n', '\n');
        glint_char_set_add(&set, '\r', '\r');
        glint_char_set_add(&set, 0x2028, 0x2029);
        set.negated = true;
        return add_set(r, &set, out);
    default:
        if (looking_at(r, "\\b") || looking_at(r, "\\B"))
            return refuse(r, GLINT_E_UNSUPPORTED, "\\b");
        if (looking_at(r, "\\") && r->at + 1 < r->text.n && r->text.data[r->at + 1] >= '1' &&
            r->text.data[r->at + 1] <= '9')
            return refuse(r, GLINT_E_UNSUPPORTED, "a back reference");
        GLINT_TRY(glint_char_set_read(&set, r->text, &r->at, &code, r->err));
        if (code != GLINT_CHAR_CLASS)
            glint_char_set_add(&set, code, code);
        return add_set(r, &set, out);
    }
}

static bool read_number(struct reader *r, unsigned *value) {
    size_t begin = r->at;
    *value = 0;
    for (; r->at < r->text.n && r->text.data[r->at] >= '0' && r->text.data[r->at] <= '9'; r->at++)
        *value = *value < 1000000 ? 10 * *value + (unsigned)(r->text.data[r->at] - '0') : *value;
    return r->at > begin;
}

// {n}, {n,} or {n,m}: false leaves r->at; anything else in braces is literal text.
static bool read_braces(struct reader *r, unsigned *least, unsigned *most) {
    size_t begin = r->at++;
    bool ok = read_number(r, least);
    *most = *least;
    if (ok && looking_at(r, ",")) {
        r->at++;
        if (!read_number(r, most))
            *most = UINT32_MAX;
    }
    ok = ok && looking_at(r, "}");
    r->at = ok ? r->at + 1 : begin;
    return ok;
}

static bool read_quantifier(struct reader *r, unsigned *least, unsigned *most) {
    char c = r->at < r->text.n ? r->text.data[r->at] : 0;
    if (c == '{')
        return read_braces(r, least, most);
    if (c != '*' && c != '+' && c != '?')
        return false;
    r->at++;
    *least = c == '+';
    *most = c == '?' ? 1 : UINT32_MAX;
    return true;
}

static void join(struct reader *r, struct fragment *whole, struct fragment next) {
    r->nfa->nodes[whole->end].out = next.start;
    whole->end = next.end;
}

struct repetition {
    size_t begin, end; // text of the atom, and behind its quantifier
    unsigned least, most;
    struct fragment first; // the atom as it was read
};

// The atom `least` to `most` times. Without a limit the last copy leads back to itself.
static enum glint_status repeat(struct reader *r, const struct repetition *rep,
                                struct fragment *out) {
    bool loops = rep->most == UINT32_MAX;
    unsigned n = !loops ? rep->most : rep->least > 0 ? rep->least : 1;
    uint32_t last, fork;
    GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &out->start));
    GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &last));
    out->end = out->start;
    for (unsigned i = 0; i < n; i++) {
        struct fragment copy = rep->first;
        if (i > 0) {
            r->at = rep->begin;
            GLINT_TRY(read_atom(r, &copy));
        }
        if (i >= rep->least) {
            GLINT_TRY(add_split(r, copy.start, last, &fork));
            join(r, out, (struct fragment){fork, copy.end});
        } else {
            join(r, out, copy);
        }
        if (loops && i + 1 == n) {
            uint32_t after;
            GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &after));
            GLINT_TRY(add_split(r, copy.start, after, &fork));
            r->nfa->nodes[out->end].out = fork;
            out->end = after;
        }
    }
    r->nfa->nodes[out->end].out = last;
    out->end = last;
    r->at = rep->end;
    return GLINT_OK;
}

static enum glint_status read_term(struct reader *r, struct fragment *out) {
    struct repetition rep = {.begin = r->at};
    GLINT_TRY(read_atom(r, out));
    if (!read_quantifier(r, &rep.least, &rep.most))
        return GLINT_OK;
    if (looking_at(r, "?"))
        r->at++; // fewest first: the same texts
    if (looking_at(r, "*") || looking_at(r, "+") || looking_at(r, "?"))
        return refuse(r, GLINT_E_FORMAT, "nothing to repeat");
    if (rep.least > MAX_REPEAT || (rep.most > MAX_REPEAT && rep.most != UINT32_MAX))
        return refuse(r, GLINT_E_LIMIT, "a repetition of more than 1,000");
    if (rep.least > rep.most)
        return refuse(r, GLINT_E_FORMAT, "a repetition out of order before");
    rep.end = r->at;
    rep.first = *out;
    return repeat(r, &rep, out);
}

static enum glint_status read_sequence(struct reader *r, struct fragment *out) {
    GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &out->start));
    out->end = out->start;
    while (r->at < r->text.n && !looking_at(r, "|") && !looking_at(r, ")")) {
        struct fragment term;
        GLINT_TRY(read_term(r, &term));
        join(r, out, term);
    }
    return GLINT_OK;
}

static enum glint_status read_alternatives(struct reader *r, struct fragment *out) {
    GLINT_TRY(read_sequence(r, out));
    while (looking_at(r, "|")) {
        struct fragment other;
        uint32_t fork, end;
        r->at++;
        GLINT_TRY(read_sequence(r, &other));
        GLINT_TRY(add_split(r, out->start, other.start, &fork));
        GLINT_TRY(add_split(r, NOWHERE, NOWHERE, &end));
        r->nfa->nodes[out->end].out = end;
        r->nfa->nodes[other.end].out = end;
        *out = (struct fragment){fork, end};
    }
    return GLINT_OK;
}

// A loop over any character, entered and left at the same node.
static enum glint_status add_any_loop(struct reader *r, struct fragment *out) {
    struct glint_char_set any = {.n = 0};
    struct fragment one;
    glint_char_set_add(&any, 0, 0x10ffff);
    GLINT_TRY(add_set(r, &any, &one));
    GLINT_TRY(add_split(r, NOWHERE, one.start, &out->start));
    r->nfa->nodes[one.end].out = out->start;
    out->end = out->start;
    return GLINT_OK;
}

enum glint_status glint_nfa_open(struct glint_nfa *nfa, struct glint_view pattern,
                                 enum glint_spelling spelling, struct glint_error *err) {
    struct reader r = {.text = pattern, .nfa = nfa, .spelling = spelling, .err = err};
    struct fragment before, body, after;
    uint32_t accept;
    *nfa = (struct glint_nfa){.n = 0};
    enum glint_status status = add_any_loop(&r, &before);
    if (status == GLINT_OK)
        status = read_alternatives(&r, &body);
    if (status == GLINT_OK && r.at < pattern.n)
        status = refuse(&r, GLINT_E_FORMAT, "\")\" without \"(\"");
    if (status == GLINT_OK)
        status = add_any_loop(&r, &after);
    if (status == GLINT_OK)
        status = add_node(&r, (struct glint_nfa_node){.kind = GLINT_NFA_ACCEPT}, &accept);
    if (status != GLINT_OK) {
        glint_nfa_fini(nfa);
        return status;
    }
    nfa->nodes[before.end].out = body.start;
    nfa->nodes[body.end].out = after.start;
    nfa->nodes[after.end].out = accept;
    nfa->first = before.start;
    status = glint_nfa_prepare(nfa);
    if (status != GLINT_OK) {
        glint_nfa_fini(nfa);
        return glint_fail(err, status, "pattern: no memory");
    }
    return GLINT_OK;
}
