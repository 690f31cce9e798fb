// SPDX-License-Identifier: Apache-2.0
// template_function.c — functions a template calls by name. The clock is the caller's: this
// folder never asks for the time.
#include "prompt/render.h"
#include "prompt/template_names.h"

#include <stdio.h>

typedef bool (*function_fn)(struct glint_render *r, struct glint_args *args,
                            struct glint_value *out);

static bool call_range(struct glint_render *r, struct glint_args *args, struct glint_value *out) {
    int64_t bounds[3] = {0, 0, 1};
    size_t n_given = args->n_plain;
    for (size_t i = 0; i < 3 && i < n_given; i++) {
        if (!glint_args_int(r, args, "stop", &bounds[i]))
            return false;
    }
    if (n_given == 0 || bounds[2] == 0)
        return glint_render_fail(r, GLINT_E_ARG,
                                 "range: expected a limit, and a step that is not 0");
    if (n_given == 1) {
        bounds[1] = bounds[0];
        bounds[0] = 0;
    }
    int64_t step = bounds[2];
    for (int i = 0; i < 3; i++) {
        if (bounds[i] > INT32_MAX || bounds[i] < INT32_MIN)
            return glint_render_fail(r, GLINT_E_LIMIT, "range: bounds past 32 bits");
    }
    int64_t span = step > 0 ? bounds[1] - bounds[0] : bounds[0] - bounds[1];
    int64_t size = step > 0 ? step : -step;
    int64_t n = span <= 0 ? 0 : (span + size - 1) / size;
    if (n > GLINT_RENDER_MAX_RANGE)
        return glint_render_fail(r, GLINT_E_LIMIT, "range: %lld numbers, expected at most %d",
                                 (long long)n, GLINT_RENDER_MAX_RANGE);
    struct glint_list *list = glint_list_make(r->heap, (size_t)n);
    if (!list || !glint_render_charge(r, (size_t)n / 16))
        return glint_render_no_memory(r);
    for (int64_t i = 0; i < n; i++)
        list->items[i] = glint_value_int(bounds[0] + i * step);
    *out = (struct glint_value){.kind = GLINT_VALUE_LIST, .as.list = list};
    return glint_args_end(r, args);
}

// dict(...) and namespace(...): a mapping to start from, then keywords.
static bool make_dict(struct glint_render *r, struct glint_args *args, enum glint_value_kind kind,
                      struct glint_value *out) {
    struct glint_value start = glint_value_none();
    if (args->n_plain != 0)
        start = args->plain[args->n_used++];
    if (start.kind != GLINT_VALUE_NONE && start.kind != GLINT_VALUE_DICT)
        return glint_render_fail(r, GLINT_E_ARG, "%s: expected a dict, found %s", args->callee,
                                 glint_value_kind_name(start));
    size_t n_start = start.kind == GLINT_VALUE_DICT ? start.as.dict->n : 0;
    struct glint_dict *dict = glint_dict_make(r->heap, n_start + args->n_keywords);
    if (!dict)
        return glint_render_no_memory(r);
    for (size_t i = 0; i < n_start; i++) {
        if (!glint_render_charge(r, 1 + i / 16) ||
            !glint_dict_put(r->heap, dict, start.as.dict->entries[i].key,
                            start.as.dict->entries[i].value))
            return glint_render_no_memory(r);
    }
    for (size_t i = 0; i < args->n_keywords; i++) {
        args->keywords[i].used = true;
        if (!glint_render_charge(r, 1 + dict->n / 16) ||
            !glint_dict_put(r->heap, dict, glint_value_string(args->keywords[i].name),
                            args->keywords[i].value))
            return glint_render_no_memory(r);
    }
    *out = (struct glint_value){.kind = kind, .as.dict = dict};
    return glint_args_end(r, args);
}

static bool call_dict(struct glint_render *r, struct glint_args *args, struct glint_value *out) {
    return make_dict(r, args, GLINT_VALUE_DICT, out);
}

static bool call_namespace(struct glint_render *r, struct glint_args *args,
                           struct glint_value *out) {
    return make_dict(r, args, GLINT_VALUE_NAMESPACE, out);
}

// A cycler or joiner over the values given.
static bool make_cycler(struct glint_render *r, const struct glint_value *items, size_t n,
                        struct glint_value *out) {
    struct glint_cycler *cycler = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, 1, sizeof *cycler);
    struct glint_list *list = glint_list_make(r->heap, n);
    if (!cycler || !list)
        return glint_render_no_memory(r);
    for (size_t i = 0; i < n; i++)
        list->items[i] = items[i];
    *cycler = (struct glint_cycler){.items = list};
    out->as.cycler = cycler;
    return true;
}

static bool call_cycler(struct glint_render *r, struct glint_args *args, struct glint_value *out) {
    if (args->n_plain == 0)
        return glint_render_fail(r, GLINT_E_ARG, "cycler: expected values to choose from");
    out->kind = GLINT_VALUE_CYCLER;
    args->n_used = args->n_plain;
    return make_cycler(r, args->plain, args->n_plain, out) && glint_args_end(r, args);
}

static bool call_joiner(struct glint_render *r, struct glint_args *args, struct glint_value *out) {
    struct glint_value separator;
    if (!glint_value_literal(r->heap, ", ", &separator))
        return glint_render_no_memory(r);
    glint_args_take(args, "sep", &separator, NULL);
    out->kind = GLINT_VALUE_JOINER;
    return make_cycler(r, &separator, 1, out) && glint_args_end(r, args);
}

static bool call_raise(struct glint_render *r, struct glint_args *args, struct glint_value *out) {
    struct glint_value message = glint_value_none();
    const struct glint_string *text = NULL;
    glint_args_take(args, "message", &message, NULL);
    *out = glint_value_none();
    if (!glint_args_end(r, args) || !glint_render_text(r, message, &text))
        return false;
    return glint_render_fail(r, GLINT_E_ARG, "%.*s", text->n < 600 ? (int)text->n : 600,
                             text->data);
}

static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};

static bool is_leap(int year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int day_of_year(const struct glint_template_clock *clock) {
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    return before[clock->month - 1] + clock->day + (clock->month > 2 && is_leap(clock->year));
}

static int day_of_week(const struct glint_template_clock *clock) { // 0: Sunday
    int y = clock->year - 1;
    return (y * 365 + y / 4 - y / 100 + y / 400 + day_of_year(clock)) % 7;
}

// One directive of a clock format into out; false when it is not supported.
static bool format_date(const struct glint_template_clock *clock, char directive, bool bare,
                        char out[32]) {
    const char *two = bare ? "%d" : "%02d";
    int hour12 = clock->hour % 12 == 0 ? 12 : clock->hour % 12;
    switch (directive) {
    case 'Y':
        return snprintf(out, 32, "%04d", clock->year) > 0;
    case 'y':
        return snprintf(out, 32, two, clock->year % 100) > 0;
    case 'm':
        return snprintf(out, 32, two, clock->month) > 0;
    case 'd':
        return snprintf(out, 32, two, clock->day) > 0;
    case 'e':
        return snprintf(out, 32, bare ? "%d" : "%2d", clock->day) > 0;
    case 'H':
        return snprintf(out, 32, two, clock->hour) > 0;
    case 'I':
        return snprintf(out, 32, two, hour12) > 0;
    case 'M':
        return snprintf(out, 32, two, clock->minute) > 0;
    case 'S':
        return snprintf(out, 32, two, clock->second) > 0;
    case 'j':
        return snprintf(out, 32, bare ? "%d" : "%03d", day_of_year(clock)) > 0;
    case 'p':
        return snprintf(out, 32, "%s", clock->hour < 12 ? "AM" : "PM") > 0;
    case 'A':
        return snprintf(out, 32, "%s", days[day_of_week(clock)]) > 0;
    case 'a':
        return snprintf(out, 32, "%.3s", days[day_of_week(clock)]) > 0;
    case 'B':
        return snprintf(out, 32, "%s", months[clock->month - 1]) > 0;
    case 'b':
    case 'h':
        return snprintf(out, 32, "%.3s", months[clock->month - 1]) > 0;
    case 'F':
        return snprintf(out, 32, "%04d-%02d-%02d", clock->year, clock->month, clock->day) > 0;
    case 'T':
        return snprintf(out, 32, "%02d:%02d:%02d", clock->hour, clock->minute, clock->second) > 0;
    case '%':
        return snprintf(out, 32, "%%") > 0;
    default:
        return false;
    }
}

static bool call_strftime_now(struct glint_render *r, struct glint_args *args,
                              struct glint_value *out) {
    const struct glint_template_clock *clock = &r->input->clock;
    const struct glint_string *format = NULL;
    if (!glint_args_text(r, args, "format", &format) || !glint_args_end(r, args))
        return false;
    if (!format)
        return glint_render_fail(r, GLINT_E_ARG, "strftime_now: expected a format");
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    if (clock->answer.n != 0)
        glint_sink_put(r->sink, clock->answer.data, clock->answer.n, GLINT_ORIGIN_TEMPLATE);
    for (size_t at = 0; clock->answer.n == 0 && at < format->n;) {
        if (format->data[at] != '%') {
            glint_sink_put_part(r->sink, format, at, at + 1);
            at++;
            continue;
        }
        bool bare = at + 2 < format->n && format->data[at + 1] == '-';
        char directive = at + 1 + bare < format->n ? format->data[at + 1 + bare] : 0;
        char text[32];
        if (!format_date(clock, directive, bare, text))
            return glint_render_fail(r, GLINT_E_UNSUPPORTED,
                                     "strftime_now: '%%%c' is not supported in a format",
                                     directive ? directive : ' ');
        glint_sink_put_literal(r->sink, text);
        at += 2 + (size_t)bare;
    }
    return glint_render_take(r, mark, out);
}

static const struct {
    const char *name;
    function_fn call;
} functions[] = {
    {"range", call_range},
    {"dict", call_dict},
    {"namespace", call_namespace},
    {"cycler", call_cycler},
    {"joiner", call_joiner},
    {"raise_exception", call_raise},
    {"strftime_now", call_strftime_now},
};

int glint_function_find(struct glint_view name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (glint_view_is(name, functions[i].name))
            return (int)i + 1;
    }
    return 0;
}

bool glint_function_call(struct glint_render *r, int id, struct glint_args *args,
                         struct glint_value *out) {
    args->callee = functions[id - 1].name;
    return functions[id - 1].call(r, args, out);
}
