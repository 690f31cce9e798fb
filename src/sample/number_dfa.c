// SPDX-License-Identifier: Apache-2.0
// number_dfa.c — see number_dfa.h.
#include "sample/number_dfa.h"

#include <string.h>

enum { MAX_WHOLE = 20, MAX_FRACTION = 20, MAX_MULTIPLE = 100000, MAX_EXPONENT = 200 };

// ---- decimals ---------------------------------------------------------------------------------

// Digits of the lexeme without point and exponent; *point: where the point stands among them.
static bool read_digits(struct glint_view lexeme, char digits[GLINT_DECIMAL_MAX], int *n,
                        int *point) {
    size_t i = lexeme.n > 0 && lexeme.data[0] == '-';
    bool behind = false;
    *n = *point = 0;
    for (; i < lexeme.n && (lexeme.data[i] | 0x20) != 'e'; i++) {
        char c = lexeme.data[i];
        if (c == '.') {
            behind = true;
            continue;
        }
        if (c == '0' && *n == 0) { // leading zeros
            *point -= behind;
            continue;
        }
        if (*n == GLINT_DECIMAL_MAX)
            return false;
        digits[(*n)++] = c;
        *point += !behind;
    }
    int exponent = 0;
    bool negative = i + 1 < lexeme.n && lexeme.data[i + 1] == '-';
    for (i++; i < lexeme.n; i++)
        if (lexeme.data[i] >= '0' && lexeme.data[i] <= '9' && exponent <= MAX_EXPONENT)
            exponent = 10 * exponent + (lexeme.data[i] - '0');
    *point += negative ? -exponent : exponent;
    return exponent <= MAX_EXPONENT || *n == 0;
}

bool glint_decimal_read(struct glint_view lexeme, struct glint_decimal *out) {
    char digits[GLINT_DECIMAL_MAX];
    int n, point;
    *out = (struct glint_decimal){.n_whole = 1, .digits = "0"};
    if (!read_digits(lexeme, digits, &n, &point))
        return false;
    while (n > 0 && digits[n - 1] == '0')
        n--;
    if (n == 0)
        return true;
    int n_whole = point > 0 ? point : 1;
    int n_fraction = n - point > 0 ? n - point : 0;
    if (n_whole + n_fraction > GLINT_DECIMAL_MAX)
        return false;
    out->negative = lexeme.data[0] == '-';
    out->n_whole = (uint8_t)n_whole;
    out->n_fraction = (uint8_t)n_fraction;
    for (int i = 0; i < n_whole + n_fraction; i++) {
        int at = i - n_whole + point; // place among the digits
        out->digits[i] = at >= 0 && at < n ? digits[at] : '0';
    }
    return true;
}

bool glint_decimal_is_zero(const struct glint_decimal *decimal) {
    return decimal->n_whole == 1 && decimal->n_fraction == 0 && decimal->digits[0] == '0';
}

bool glint_decimal_is_whole(const struct glint_decimal *decimal) {
    return decimal->n_fraction == 0;
}

static int compare_size(const struct glint_decimal *a, const struct glint_decimal *b) {
    if (a->n_whole != b->n_whole)
        return a->n_whole < b->n_whole ? -1 : 1;
    int n_a = a->n_whole + a->n_fraction, n_b = b->n_whole + b->n_fraction;
    int order = memcmp(a->digits, b->digits, (size_t)(n_a < n_b ? n_a : n_b));
    return order ? (order > 0) - (order < 0) : (n_a > n_b) - (n_a < n_b);
}

int glint_decimal_compare(const struct glint_decimal *a, const struct glint_decimal *b) {
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->negative ? compare_size(b, a) : compare_size(a, b);
}

bool glint_number_set_multiple(struct glint_number_rule *rule, const struct glint_decimal *value) {
    uint32_t multiple = 0;
    if (value->negative || glint_decimal_is_zero(value) || value->n_fraction > MAX_FRACTION)
        return false;
    for (int i = 0; i < value->n_whole + value->n_fraction; i++) {
        multiple = 10 * multiple + (uint32_t)(value->digits[i] - '0');
        if (multiple > MAX_MULTIPLE)
            return false;
    }
    rule->multiple = multiple;
    rule->multiple_places = value->n_fraction;
    return true;
}

// ---- the automaton ----------------------------------------------------------------------------

enum phase {
    PHASE_START,
    PHASE_MINUS,
    PHASE_ZERO,  // the whole part is 0
    PHASE_WHOLE, // in the whole part
    PHASE_POINT,
    PHASE_FRACTION,
    PHASE_E,
    PHASE_E_SIGN,
    PHASE_EXPONENT1,
    PHASE_EXPONENT2,
};

// The number so far against a bound, signs left out.
enum order { ORDER_LESS, ORDER_EQUAL, ORDER_MORE };

struct number_state {
    enum phase phase;
    bool negative;
    bool nonzero;
    uint32_t n;           // digits of the part we are in
    enum order orders[2]; // against low and high
    uint32_t rest;        // of the digits so far, modulo the multiple
};

struct number_context {
    const struct glint_number_rule *rule;
    uint32_t max_whole, max_fraction;
};

static uint64_t pack(const struct number_state *s) {
    return (uint64_t)s->phase | (uint64_t)s->negative << 4 | (uint64_t)s->nonzero << 5 |
           (uint64_t)s->n << 6 | (uint64_t)s->orders[0] << 14 | (uint64_t)s->orders[1] << 16 |
           (uint64_t)s->rest << 18;
}

static struct number_state unpack(uint64_t word) {
    return (struct number_state){
        .phase = (enum phase)(word & 15),
        .negative = word >> 4 & 1,
        .nonzero = word >> 5 & 1,
        .n = (uint32_t)(word >> 6 & 255),
        .orders = {(enum order)(word >> 14 & 3), (enum order)(word >> 16 & 3)},
        .rest = (uint32_t)(word >> 18),
    };
}

// After one more digit. In the whole part the order is that of the bound's first digits, until
// the part ends and its length is known.
static enum order next_order(enum order order, const struct glint_decimal *bound, uint32_t at,
                             uint8_t byte) {
    if (order != ORDER_EQUAL)
        return order;
    char digit = at < (uint32_t)bound->n_whole + bound->n_fraction ? bound->digits[at] : '0';
    return byte < (uint8_t)digit ? ORDER_LESS : byte > (uint8_t)digit ? ORDER_MORE : ORDER_EQUAL;
}

static enum order end_whole(enum order order, const struct glint_decimal *bound, uint32_t n) {
    return n < bound->n_whole ? ORDER_LESS : n > bound->n_whole ? ORDER_MORE : order;
}

static uint64_t put_digit(const struct number_context *context, struct number_state *s,
                          uint8_t byte) {
    const struct glint_number_rule *rule = context->rule;
    bool fraction = s->phase == PHASE_FRACTION;
    if (s->n >= (fraction ? context->max_fraction : context->max_whole))
        return GLINT_MACHINE_DEAD;
    if (rule->has_low)
        s->orders[0] =
            next_order(s->orders[0], &rule->low, s->n + (fraction ? rule->low.n_whole : 0u), byte);
    if (rule->has_high)
        s->orders[1] = next_order(s->orders[1], &rule->high,
                                  s->n + (fraction ? rule->high.n_whole : 0u), byte);
    s->n++;
    s->nonzero = s->nonzero || byte != '0';
    if (rule->multiple)
        s->rest = (10 * s->rest + (uint32_t)(byte - '0')) % rule->multiple;
    return pack(s);
}

static void close_whole(const struct glint_number_rule *rule, struct number_state *s) {
    if (rule->has_low)
        s->orders[0] = end_whole(s->orders[0], &rule->low, s->n);
    if (rule->has_high)
        s->orders[1] = end_whole(s->orders[1], &rule->high, s->n);
}

static uint64_t step_whole(const struct number_context *context, struct number_state *s,
                           uint8_t byte) {
    const struct glint_number_rule *rule = context->rule;
    bool plain = !rule->has_low && !rule->has_high && !rule->multiple;
    if (byte == '.' && !rule->whole) {
        close_whole(rule, s);
        s->phase = PHASE_POINT;
        s->n = 0;
        return pack(s);
    }
    if ((byte | 0x20) == 'e' && !rule->whole && plain) {
        *s = (struct number_state){.phase = PHASE_E, .nonzero = true};
        return pack(s);
    }
    bool digit = byte >= '0' && byte <= '9' && s->phase == PHASE_WHOLE;
    return digit ? put_digit(context, s, byte) : GLINT_MACHINE_DEAD;
}

static uint64_t step_exponent(struct number_state *s, uint8_t byte) {
    if (byte == '+' || byte == '-') {
        bool sign = s->phase == PHASE_E;
        s->phase = PHASE_E_SIGN;
        return sign ? pack(s) : GLINT_MACHINE_DEAD;
    }
    if (byte < '0' || byte > '9' || s->phase == PHASE_EXPONENT2)
        return GLINT_MACHINE_DEAD;
    s->phase = s->phase == PHASE_EXPONENT1 ? PHASE_EXPONENT2 : PHASE_EXPONENT1;
    return pack(s);
}

static uint64_t number_step(void *in, uint64_t word, uint8_t byte) {
    const struct number_context *context = in;
    struct number_state s = unpack(word);
    switch (s.phase) {
    case PHASE_START:
    case PHASE_MINUS:
        if (byte == '-' && s.phase == PHASE_START) {
            s.phase = PHASE_MINUS;
            s.negative = true;
            return pack(&s);
        }
        if (byte < '0' || byte > '9')
            return GLINT_MACHINE_DEAD;
        s.phase = byte == '0' ? PHASE_ZERO : PHASE_WHOLE;
        return put_digit(context, &s, byte);
    case PHASE_ZERO:
    case PHASE_WHOLE:
        return step_whole(context, &s, byte);
    case PHASE_POINT:
    case PHASE_FRACTION:
        if (s.phase == PHASE_FRACTION && (byte | 0x20) == 'e')
            return step_whole(context, &s, byte);
        if (byte < '0' || byte > '9')
            return GLINT_MACHINE_DEAD;
        s.phase = PHASE_FRACTION;
        return put_digit(context, &s, byte);
    default:
        return step_exponent(&s, byte);
    }
}

// The order of the number against a bound, signs counted.
static enum order signed_order(const struct number_state *s, const struct glint_decimal *bound,
                               enum order order) {
    if (s->negative != bound->negative)
        return s->negative ? ORDER_LESS : ORDER_MORE;
    if (!s->negative || order == ORDER_EQUAL)
        return order;
    return order == ORDER_LESS ? ORDER_MORE : ORDER_LESS;
}

static unsigned number_flags(void *in, uint64_t word) {
    const struct number_context *context = in;
    const struct glint_number_rule *rule = context->rule;
    struct number_state s = unpack(word);
    if (s.phase == PHASE_EXPONENT1 || s.phase == PHASE_EXPONENT2)
        return GLINT_DFA_ACCEPT;
    bool whole = s.phase == PHASE_ZERO || s.phase == PHASE_WHOLE;
    if ((!whole && s.phase != PHASE_FRACTION) || (s.negative && !s.nonzero))
        return 0;
    enum order low = s.orders[0], high = s.orders[1];
    uint32_t n_fraction = whole ? 0 : s.n;
    if (whole) {
        close_whole(rule, &s);
        low = s.orders[0];
        high = s.orders[1];
    }
    // Digits of the bound that were not compared: if it is equal so far, it is larger.
    if (low == ORDER_EQUAL && n_fraction < rule->low.n_fraction)
        low = ORDER_LESS;
    if (high == ORDER_EQUAL && n_fraction < rule->high.n_fraction)
        high = ORDER_LESS;
    if (rule->has_low) {
        low = signed_order(&s, &rule->low, low);
        if (low == ORDER_LESS || (low == ORDER_EQUAL && rule->low_open))
            return 0;
    }
    if (rule->has_high) {
        high = signed_order(&s, &rule->high, high);
        if (high == ORDER_MORE || (high == ORDER_EQUAL && rule->high_open))
            return 0;
    }
    uint32_t rest = s.rest;
    for (uint32_t i = n_fraction; rule->multiple && i < rule->multiple_places; i++)
        rest = 10 * rest % rule->multiple;
    return rest == 0 ? GLINT_DFA_ACCEPT : 0;
}

enum glint_machine_fit glint_dfa_number(struct glint_dfa *dfa, const struct glint_number_rule *rule,
                                        uint32_t *start) {
    struct number_context context = {rule, MAX_WHOLE, MAX_FRACTION};
    struct number_state first = {.phase = PHASE_START, .orders = {ORDER_EQUAL, ORDER_EQUAL}};
    const struct glint_decimal *bounds[2] = {rule->has_low ? &rule->low : NULL,
                                             rule->has_high ? &rule->high : NULL};
    for (int i = 0; i < 2; i++) {
        if (bounds[i] && bounds[i]->n_whole > context.max_whole)
            context.max_whole = bounds[i]->n_whole;
        if (bounds[i] && bounds[i]->n_fraction >= context.max_fraction)
            context.max_fraction = bounds[i]->n_fraction + 1u;
    }
    if (rule->multiple)
        context.max_fraction = rule->multiple_places;
    struct glint_machine machine = {.context = &context,
                                    .start = pack(&first),
                                    .step = number_step,
                                    .flags = number_flags,
                                    .alphabet = "+-.0123456789Ee"};
    return glint_dfa_build(dfa, &machine, start);
}
