// SPDX-License-Identifier: Apache-2.0
// value_operator.c — arithmetic, comparison, membership and subscripts, as Python defines them.
// Integers are 64 bits: a result that does not fit is an error, never a wrong number.
#include "prompt/render.h"

#include <math.h>
#include <string.h>

bool glint_value_is_number(struct glint_value value) {
    return value.kind == GLINT_VALUE_BOOL || value.kind == GLINT_VALUE_INT ||
           value.kind == GLINT_VALUE_FLOAT;
}

static bool is_integer(struct glint_value value) {
    return value.kind == GLINT_VALUE_BOOL || value.kind == GLINT_VALUE_INT;
}

static int64_t integer_of(struct glint_value value) {
    return value.kind == GLINT_VALUE_BOOL ? value.as.truth : value.as.integer;
}

double glint_value_number(struct glint_value value) {
    return value.kind == GLINT_VALUE_FLOAT ? value.as.number : (double)integer_of(value);
}

static const char *const symbols[] = {
    [GLINT_OP_ADD] = "+",     [GLINT_OP_SUBTRACT] = "-",       [GLINT_OP_MULTIPLY] = "*",
    [GLINT_OP_DIVIDE] = "/",  [GLINT_OP_FLOOR_DIVIDE] = "//",  [GLINT_OP_MODULO] = "%",
    [GLINT_OP_POWER] = "**",  [GLINT_OP_LESS] = "<",           [GLINT_OP_LESS_EQUAL] = "<=",
    [GLINT_OP_GREATER] = ">", [GLINT_OP_GREATER_EQUAL] = ">=",
};

// Fails if the value is undefined, which no operator but == and != accepts.
static bool require_defined(struct glint_render *r, struct glint_value value) {
    if (value.kind != GLINT_VALUE_UNDEFINED)
        return true;
    if (!value.as.text)
        return glint_render_fail(r, GLINT_E_ARG, "an undefined value is used");
    return glint_render_fail(r, GLINT_E_ARG, "'%.*s' is undefined", (int)value.as.text->n,
                             value.as.text->data);
}

static bool fail_types(struct glint_render *r, enum glint_op op, struct glint_value a,
                       struct glint_value b) {
    return require_defined(r, a) && require_defined(r, b) &&
           glint_render_fail(r, GLINT_E_ARG, "'%s' is not defined between %s and %s", symbols[op],
                             glint_value_kind_name(a), glint_value_kind_name(b));
}

static bool fail_range(struct glint_render *r) {
    return glint_render_fail(r, GLINT_E_ARG, "an integer is past 64 bits");
}

static bool multiply(int64_t a, int64_t b, int64_t *out) {
    if (a != 0 && b != 0) {
        if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN))
            return false;
        if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)
                  : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a))
            return false;
    }
    *out = a * b;
    return true;
}

static bool add(int64_t a, int64_t b, int64_t *out) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *out = a + b;
    return true;
}

static bool power(int64_t base, int64_t exponent, int64_t *out) {
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0 && !multiply(result, base, &result))
            return false;
        exponent >>= 1;
        if (exponent != 0 && !multiply(base, base, &base))
            return false;
    }
    *out = result;
    return true;
}

// Quotient and remainder rounded toward minus infinity; b is not 0 and the quotient fits.
static int64_t floor_divide(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static bool integer_arithmetic(struct glint_render *r, enum glint_op op, int64_t a, int64_t b,
                               struct glint_value *out) {
    int64_t result = 0;
    bool fits = true;
    if ((op == GLINT_OP_FLOOR_DIVIDE || op == GLINT_OP_MODULO) && b == 0)
        return glint_render_fail(r, GLINT_E_ARG, "division by zero");
    switch (op) {
    case GLINT_OP_ADD:
        fits = add(a, b, &result);
        break;
    case GLINT_OP_SUBTRACT:
        fits = b == INT64_MIN ? a < 0 : add(a, -b, &result);
        result = b == INT64_MIN && fits ? a - b : result;
        break;
    case GLINT_OP_MULTIPLY:
        fits = multiply(a, b, &result);
        break;
    case GLINT_OP_FLOOR_DIVIDE:
        fits = !(a == INT64_MIN && b == -1);
        result = fits ? floor_divide(a, b) : 0;
        break;
    case GLINT_OP_MODULO:
        result = b == -1 ? 0 : a - floor_divide(a, b) * b;
        break;
    default:
        fits = power(a, b, &result);
        break;
    }
    *out = glint_value_int(result);
    return fits || fail_range(r);
}

static bool float_arithmetic(struct glint_render *r, enum glint_op op, double a, double b,
                             struct glint_value *out) {
    double result;
    if ((op == GLINT_OP_DIVIDE || op == GLINT_OP_FLOOR_DIVIDE || op == GLINT_OP_MODULO) && b == 0)
        return glint_render_fail(r, GLINT_E_ARG, "division by zero");
    switch (op) {
    case GLINT_OP_ADD:
        result = a + b;
        break;
    case GLINT_OP_SUBTRACT:
        result = a - b;
        break;
    case GLINT_OP_MULTIPLY:
        result = a * b;
        break;
    case GLINT_OP_DIVIDE:
        result = a / b;
        break;
    case GLINT_OP_FLOOR_DIVIDE:
        result = floor(a / b);
        break;
    case GLINT_OP_MODULO:
        result = fmod(a, b);
        result += result != 0 && (result < 0) != (b < 0) ? b : 0;
        break;
    default:
        result = pow(a, b);
        break;
    }
    *out = glint_value_float(result);
    return true;
}

static bool join_lists(struct glint_render *r, struct glint_value a, struct glint_value b,
                       struct glint_value *out) {
    const struct glint_list *left = a.as.list;
    const struct glint_list *right = b.as.list;
    if (!glint_render_charge(r, right->n))
        return false;
    struct glint_list *list = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, 1, sizeof *list);
    size_t bytes = right->n * sizeof *right->items;
    // Lists never change, so a longer one may stand on the same items.
    struct glint_value *tail =
        left->n == 0 ? NULL
                     : glint_heap_extend(r->heap, GLINT_HEAP_ITEMS, left->items + left->n, bytes);
    struct glint_value *items = left->items;
    if (!tail) {
        if (!glint_render_charge(r, left->n))
            return false;
        items = glint_heap_take(r->heap, GLINT_HEAP_ITEMS, left->n + right->n, sizeof *items);
        if (items && left->n != 0)
            memcpy(items, left->items, left->n * sizeof *items);
        tail = items ? items + left->n : NULL;
    }
    if (!list || !items)
        return glint_render_no_memory(r);
    if (right->n != 0)
        memcpy(tail, right->items, bytes);
    *list = (struct glint_list){.items = items, .n = left->n + right->n};
    *out = (struct glint_value){.kind = a.kind, .as.list = list};
    return true;
}

static bool repeat(struct glint_render *r, struct glint_value value, int64_t times,
                   struct glint_value *out) {
    size_t n = times < 0 ? 0 : (size_t)times;
    if (value.kind == GLINT_VALUE_STRING) {
        struct glint_sink_mark mark = glint_sink_begin(r->sink);
        for (size_t i = 0; i < n && value.as.text->n != 0 && !r->sink->full; i++) {
            if (!glint_render_charge(r, 1))
                return false;
            glint_sink_put_text(r->sink, value.as.text);
        }
        return glint_render_take(r, mark, out);
    }
    const struct glint_list *old = value.as.list;
    n = old->n == 0 ? 0 : n;
    if (n > SIZE_MAX / (old->n + 1) || !glint_render_charge(r, n * old->n))
        return glint_render_fail(r, GLINT_E_LIMIT, "a list repeated %zu times", n);
    struct glint_list *list = glint_list_make(r->heap, n * old->n);
    if (!list)
        return glint_render_no_memory(r);
    for (size_t i = 0; i < list->n; i++)
        list->items[i] = old->items[i % old->n];
    *out = (struct glint_value){.kind = value.kind, .as.list = list};
    return true;
}

static bool concatenate(struct glint_render *r, struct glint_value a, struct glint_value b,
                        struct glint_value *out) {
    const struct glint_string *left = NULL;
    const struct glint_string *right = NULL;
    if (!glint_render_text(r, a, &left) || !glint_render_text(r, b, &right) ||
        !glint_render_charge(r, right->n / 64 + right->n_ranges))
        return false;
    return glint_render_string(r, glint_string_join(r->heap, left, right), out);
}

// What + and * do with strings and lists; false without an error when they do not apply.
static bool is_sequence_pair(enum glint_op op, struct glint_value a, struct glint_value b) {
    bool sequence = a.kind == GLINT_VALUE_STRING || glint_value_is_list(a);
    if (op == GLINT_OP_ADD)
        return sequence && a.kind == b.kind;
    return op == GLINT_OP_MULTIPLY && sequence && is_integer(b);
}

bool glint_render_binary(struct glint_render *r, enum glint_op op, struct glint_value a,
                         struct glint_value b, struct glint_value *out) {
    if (op == GLINT_OP_CONCAT)
        return concatenate(r, a, b, out);
    if (is_integer(a) && is_integer(b) && op != GLINT_OP_DIVIDE &&
        !(op == GLINT_OP_POWER && integer_of(b) < 0))
        return integer_arithmetic(r, op, integer_of(a), integer_of(b), out);
    if (glint_value_is_number(a) && glint_value_is_number(b))
        return float_arithmetic(r, op, glint_value_number(a), glint_value_number(b), out);
    if (is_integer(a) && is_sequence_pair(op, b, a)) {
        struct glint_value swapped = a;
        a = b;
        b = swapped;
    }
    if (!is_sequence_pair(op, a, b))
        return fail_types(r, op, a, b);
    if (op == GLINT_OP_MULTIPLY)
        return repeat(r, a, integer_of(b), out);
    return a.kind == GLINT_VALUE_STRING ? concatenate(r, a, b, out) : join_lists(r, a, b, out);
}

static bool equal_lists(struct glint_render *r, const struct glint_list *a,
                        const struct glint_list *b, bool *out) {
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++) {
        if (!glint_render_equal(r, a->items[i], b->items[i], out))
            return false;
    }
    return true;
}

static bool equal_dicts(struct glint_render *r, const struct glint_dict *a,
                        const struct glint_dict *b, bool *out) {
    *out = a->n == b->n;
    for (size_t i = 0; *out && i < a->n; i++) {
        const struct glint_value *other = glint_dict_get(b, a->entries[i].key);
        *out = other != NULL;
        if (!glint_render_charge(r, 1 + b->n / 16) ||
            (other && !glint_render_equal(r, a->entries[i].value, *other, out)))
            return false;
    }
    return true;
}

static bool equal_inside(struct glint_render *r, struct glint_value a, struct glint_value b,
                         bool *out) {
    *out = false;
    if (glint_value_is_number(a) && glint_value_is_number(b)) {
        *out = is_integer(a) && is_integer(b) ? integer_of(a) == integer_of(b)
                                              : glint_value_number(a) == glint_value_number(b);
        return true;
    }
    if (a.kind != b.kind)
        return true;
    switch (a.kind) {
    case GLINT_VALUE_UNDEFINED:
    case GLINT_VALUE_NONE:
        *out = true;
        return true;
    case GLINT_VALUE_STRING:
    case GLINT_VALUE_BIG_INT:
        *out = glint_string_equal(a.as.text, b.as.text);
        return glint_render_charge(r, a.as.text->n / 64);
    case GLINT_VALUE_LIST:
    case GLINT_VALUE_TUPLE:
        return equal_lists(r, a.as.list, b.as.list, out);
    case GLINT_VALUE_DICT:
        return equal_dicts(r, a.as.dict, b.as.dict, out);
    default: // the template's own objects are what they are
        *out = a.as.dict == b.as.dict;
        return true;
    }
}

bool glint_render_equal(struct glint_render *r, struct glint_value a, struct glint_value b,
                        bool *out) {
    if (!glint_render_charge(r, 1) || !glint_render_enter(r))
        return false;
    bool ok = equal_inside(r, a, b, out);
    glint_render_leave(r);
    return ok;
}

static bool order_lists(struct glint_render *r, const struct glint_list *a,
                        const struct glint_list *b, int *out) {
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        bool same = false;
        if (!glint_render_equal(r, a->items[i], b->items[i], &same))
            return false;
        if (!same)
            return glint_render_order(r, a->items[i], b->items[i], out);
    }
    *out = a->n < b->n ? -1 : a->n > b->n;
    return true;
}

bool glint_render_order(struct glint_render *r, struct glint_value a, struct glint_value b,
                        int *out) {
    if (!glint_render_charge(r, 1))
        return false;
    if (is_integer(a) && is_integer(b)) {
        *out = integer_of(a) < integer_of(b) ? -1 : integer_of(a) > integer_of(b);
        return true;
    }
    if (glint_value_is_number(a) && glint_value_is_number(b)) {
        double x = glint_value_number(a);
        double y = glint_value_number(b);
        *out = x < y ? -1 : x > y;
        return true;
    }
    if (a.kind == GLINT_VALUE_STRING && b.kind == GLINT_VALUE_STRING) {
        *out = glint_string_compare(a.as.text, b.as.text);
        return glint_render_charge(r, a.as.text->n / 64);
    }
    if (a.kind == b.kind && glint_value_is_list(a)) {
        if (!glint_render_enter(r))
            return false;
        bool ok = order_lists(r, a.as.list, b.as.list, out);
        glint_render_leave(r);
        return ok;
    }
    return fail_types(r, GLINT_OP_LESS, a, b);
}

static bool contains(struct glint_render *r, struct glint_value item, struct glint_value container,
                     bool *out) {
    *out = false;
    if (container.kind == GLINT_VALUE_STRING) {
        if (item.kind != GLINT_VALUE_STRING)
            return glint_render_fail(r, GLINT_E_ARG,
                                     "'in' a string: the left side is %s, expected a string",
                                     glint_value_kind_name(item));
        *out = glint_string_find(container.as.text, glint_string_view(item.as.text), 0) != SIZE_MAX;
        return glint_render_charge(r, container.as.text->n / 64);
    }
    if (container.kind == GLINT_VALUE_DICT) {
        if (!glint_render_charge(r, container.as.dict->n / 16))
            return false;
        *out = (item.kind == GLINT_VALUE_STRING || is_integer(item) ||
                item.kind == GLINT_VALUE_NONE) &&
               glint_dict_get(container.as.dict, item) != NULL;
        return true;
    }
    const struct glint_list *items = NULL;
    if (!glint_render_items(r, container, &items))
        return false;
    for (size_t i = 0; i < items->n && !*out; i++) {
        if (!glint_render_equal(r, item, items->items[i], out))
            return false;
    }
    return true;
}

bool glint_render_compare(struct glint_render *r, enum glint_op op, struct glint_value a,
                          struct glint_value b, bool *out) {
    if (op == GLINT_OP_EQUAL || op == GLINT_OP_NOT_EQUAL) {
        if (!glint_render_equal(r, a, b, out))
            return false;
        *out = *out == (op == GLINT_OP_EQUAL);
        return true;
    }
    if (op == GLINT_OP_IN || op == GLINT_OP_NOT_IN) {
        if (!contains(r, a, b, out))
            return false;
        *out = *out == (op == GLINT_OP_IN);
        return true;
    }
    int order = 0;
    if (!glint_render_order(r, a, b, &order))
        return false;
    bool nan = (a.kind == GLINT_VALUE_FLOAT && isnan(a.as.number)) ||
               (b.kind == GLINT_VALUE_FLOAT && isnan(b.as.number));
    *out = !nan && (op == GLINT_OP_LESS         ? order < 0
                    : op == GLINT_OP_LESS_EQUAL ? order <= 0
                    : op == GLINT_OP_GREATER    ? order > 0
                                                : order >= 0);
    return true;
}
