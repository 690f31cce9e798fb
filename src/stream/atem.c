// SPDX-License-Identifier: Apache-2.0
// atem.c — a machine of five states over the text of one body. Searches remember how far they
// have looked, so parsing piece by piece costs what parsing at once does.
#include "stream/atem.h"

#include "base/alloc.h"
#include "stream/argument.h"

#include <string.h>

enum tag { TAG_INVOKE, TAG_INVOKE_END, TAG_PARAMETER, TAG_PARAMETER_END, TAG_CALLS_END };

static const char *const tags[GLINT_ATEM_TAGS] = {"<atem:invoke", "</atem:invoke>",
                                                  "<atem:parameter", "</atem:parameter>",
                                                  "</atem:function_calls>"};
static const char calls_begin[] = "<atem:function_calls>";

void glint_atem_fini(struct glint_atem *atem) {
    glint_buffer_fini(&atem->text);
    glint_buffer_fini(&atem->dropped);
    glint_free(atem->params);
    glint_free(atem->calls);
    *atem = (struct glint_atem){.tools = atem->tools};
}

// Forgets what was parsed, not the text.
static void restart(struct glint_atem *atem) {
    struct glint_atem fresh = {.tools = atem->tools,
                               .text = atem->text,
                               .dropped = atem->dropped,
                               .params = atem->params,
                               .param_capacity = atem->param_capacity,
                               .calls = atem->calls,
                               .call_capacity = atem->call_capacity,
                               .first_closer = SIZE_MAX,
                               .none_after = SIZE_MAX,
                               .failed = atem->failed};
    *atem = fresh;
    glint_buffer_clear(&atem->dropped);
}

void glint_atem_clear(struct glint_atem *atem) {
    restart(atem);
    glint_buffer_clear(&atem->text);
}

void glint_atem_cut(struct glint_atem *atem, size_t n) {
    restart(atem);
    atem->text.n = n;
}

void glint_atem_append(struct glint_atem *atem, const char *data, size_t n) {
    glint_buffer_append(&atem->text, data, n);
    atem->failed = atem->failed || atem->text.failed;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// End of the white space at `at`. Asked again about the same run, it goes on where it stopped.
static size_t skip_space(struct glint_atem *atem, size_t at) {
    if (at != atem->space_begin)
        atem->space_begin = atem->space_end = at;
    while (atem->space_end < atem->text.n && is_space(atem->text.data[atem->space_end]))
        atem->space_end++;
    return atem->space_end;
}

enum match { MATCH_NO, MATCH_YES, MATCH_PARTIAL }; // PARTIAL: the text ends inside the literal

static enum match match_at(const struct glint_atem *atem, size_t at, const char *literal) {
    size_t n = strlen(literal);
    if (at >= atem->text.n)
        return MATCH_PARTIAL;
    size_t left = atem->text.n - at;
    size_t common = n < left ? n : left;
    if (memcmp(atem->text.data + at, literal, common) != 0)
        return MATCH_NO;
    return common == n ? MATCH_YES : MATCH_PARTIAL;
}

// Offset of the first tag at or after from; SIZE_MAX when the text has none (yet).
static size_t find(struct glint_atem *atem, enum tag tag, size_t from) {
    struct glint_atem_search *search = &atem->searches[tag];
    size_t n = strlen(tags[tag]);
    if (!search->valid || from < search->from || from > search->at)
        *search = (struct glint_atem_search){.from = from, .at = from, .valid = true};
    while (!search->found && search->at + n <= atem->text.n) {
        const char *start = atem->text.data + search->at;
        const char *hit = memchr(start, '<', atem->text.n - n - search->at + 1);
        if (!hit) {
            search->at = atem->text.n - n + 1;
            break;
        }
        search->at = (size_t)(hit - atem->text.data);
        search->found = memcmp(hit, tags[tag], n) == 0;
        search->at += !search->found;
    }
    return search->found ? search->at : SIZE_MAX;
}

static struct glint_atem_call *open_call(struct glint_atem *atem) {
    return &atem->calls[atem->n_calls];
}

static bool begin_call(struct glint_atem *atem) {
    if (atem->n_calls == atem->call_capacity) {
        size_t capacity = atem->call_capacity ? 2 * atem->call_capacity : 4;
        struct glint_atem_call *calls = glint_realloc(atem->calls, capacity, sizeof *calls);
        if (!calls) {
            atem->failed = true;
            return false;
        }
        atem->calls = calls;
        atem->call_capacity = capacity;
    }
    *open_call(atem) = (struct glint_atem_call){.i_param = atem->n_params};
    atem->n_invokes++;
    return true;
}

static void finish_call(struct glint_atem *atem) {
    struct glint_atem_call *call = open_call(atem);
    call->n_params = atem->n_params - call->i_param;
    atem->n_calls++;
    atem->state = GLINT_ATEM_OUTSIDE;
}

static bool begin_value(struct glint_atem *atem, size_t key_begin, size_t key_end, size_t begin) {
    if (atem->n_params == atem->param_capacity) {
        size_t capacity = atem->param_capacity ? 2 * atem->param_capacity : 8;
        struct glint_atem_range *params = glint_realloc(atem->params, capacity, sizeof *params);
        if (!params) {
            atem->failed = true;
            return false;
        }
        atem->params = params;
        atem->param_capacity = capacity;
    }
    atem->params[atem->n_params] =
        (struct glint_atem_range){.key_begin = key_begin, .key_end = key_end, .value_begin = begin};
    atem->at = begin;
    atem->value_from = begin;
    atem->first_closer = SIZE_MAX;
    atem->state = GLINT_ATEM_VALUE;
    return true;
}

static bool same_bytes(const struct glint_atem *atem, const struct glint_atem_range *a,
                       const struct glint_atem_range *b) {
    size_t n = a->key_end - a->key_begin;
    return n == b->key_end - b->key_begin &&
           memcmp(atem->text.data + a->key_begin, atem->text.data + b->key_begin, n) == 0;
}

// The value ends at `end`; its closer too is consumed. A repeated key replaces the value.
static void finish_value(struct glint_atem *atem, size_t end) {
    struct glint_atem_range *param = &atem->params[atem->n_params];
    param->value_end = end;
    size_t i = open_call(atem)->i_param;
    while (i < atem->n_params && !same_bytes(atem, &atem->params[i], param))
        i++;
    atem->params[i] = *param;
    if (i == atem->n_params)
        atem->n_params++;
    atem->at = end + strlen(tags[TAG_PARAMETER_END]);
    atem->state = GLINT_ATEM_INSIDE;
}

// Skips text that is no markup, up to `to`.
static void skip_foreign(struct glint_atem *atem, size_t to) {
    glint_buffer_append(&atem->dropped, atem->text.data + atem->at, to - atem->at);
    atem->failed = atem->failed || atem->dropped.failed;
    atem->at = to;
}

// Each parse_* does one step: true when it moved, false when it must wait for more text.

static bool parse_outside(struct glint_atem *atem, enum glint_atem_end end) {
    atem->at = skip_space(atem, atem->at);
    if (atem->at == atem->text.n)
        return false;
    const char *const skipped[] = {calls_begin, tags[TAG_CALLS_END]};
    enum match invoke = match_at(atem, atem->at, tags[TAG_INVOKE]);
    bool partial = invoke == MATCH_PARTIAL;
    for (size_t i = 0; i < 2; i++) {
        enum match match = match_at(atem, atem->at, skipped[i]);
        partial = partial || match == MATCH_PARTIAL;
        if (match == MATCH_YES) {
            atem->at += strlen(skipped[i]);
            return true;
        }
    }
    if (invoke == MATCH_YES) {
        atem->tag_begin = atem->at;
        atem->at += strlen(tags[TAG_INVOKE]);
        atem->seek = atem->at;
        atem->state = GLINT_ATEM_INVOKE;
        return begin_call(atem);
    }
    if (partial && end == GLINT_ATEM_MORE)
        return false;
    const char *next = memchr(atem->text.data + atem->at + 1, '<', atem->text.n - atem->at - 1);
    skip_foreign(atem, next ? (size_t)(next - atem->text.data) : atem->text.n);
    return true;
}

// Looks for the attribute `name="` before the next '>' and moves behind it. MATCH_NO: there is
// none; MATCH_PARTIAL: not decided yet.
static enum match find_name(struct glint_atem *atem) {
    static const char name[] = "name=\"";
    for (; atem->seek < atem->text.n; atem->seek++) {
        if (atem->text.data[atem->seek] == '>')
            return MATCH_NO;
        enum match match = match_at(atem, atem->seek, name);
        if (match == MATCH_YES)
            atem->seek = atem->at = atem->seek + sizeof name - 1;
        if (match != MATCH_NO)
            return match;
    }
    return MATCH_PARTIAL;
}

static bool parse_invoke(struct glint_atem *atem) {
    enum match match = find_name(atem);
    if (match == MATCH_PARTIAL)
        return false;
    open_call(atem)->name_begin = atem->at;
    atem->state = GLINT_ATEM_NAME;
    if (match == MATCH_NO) { // without a name it is no invoke
        atem->n_invokes--;
        atem->at = atem->tag_begin;
        skip_foreign(atem, atem->seek + 1);
        atem->state = GLINT_ATEM_OUTSIDE;
    }
    return true;
}

// The name runs to `">`, or to a parameter tag when that terminator was lost.
static bool parse_name(struct glint_atem *atem) {
    struct glint_atem_call *call = open_call(atem);
    const char *data = atem->text.data;
    size_t begin = call->name_begin;
    size_t parameter = find(atem, TAG_PARAMETER, begin);
    size_t limit = parameter == SIZE_MAX ? atem->text.n : parameter;
    while (atem->seek + 1 < limit && !(data[atem->seek] == '"' && data[atem->seek + 1] == '>'))
        atem->seek++;
    bool terminated = atem->seek + 1 < limit;
    if (!terminated && parameter == SIZE_MAX)
        return false;
    call->name_end = atem->seek;
    atem->at = atem->seek + 2;
    if (!terminated) {
        call->name_end = parameter - (parameter > begin && data[parameter - 1] == '"');
        atem->at = parameter;
    }
    struct glint_view name = {.data = data + begin, .n = call->name_end - begin};
    call->tool = glint_tool_set_resolve(atem->tools, name);
    atem->state = GLINT_ATEM_INSIDE;
    return true;
}

// Text inside an invoke that is no tag. If the model swallowed a parameter tag, the invoke's name
// is TOOL.PARAMETER and the text is that parameter's value.
static bool parse_stray(struct glint_atem *atem, size_t begin, enum glint_atem_end end) {
    struct glint_atem_call *call = open_call(atem);
    size_t parameter = find(atem, TAG_PARAMETER, begin);
    size_t closer = find(atem, TAG_PARAMETER_END, begin);
    size_t invoke_end = find(atem, TAG_INVOKE_END, begin);
    struct glint_view name = {.data = atem->text.data + call->name_begin,
                              .n = call->name_end - call->name_begin};
    struct glint_view key;
    bool swallowed = call->i_param == atem->n_params && !call->tool &&
                     glint_tool_set_split(atem->tools, name, &key) != NULL;
    if (swallowed && closer < parameter && closer < invoke_end) {
        call->tool = glint_tool_set_split(atem->tools, name, &key);
        size_t key_begin = (size_t)(key.data - atem->text.data);
        return begin_value(atem, key_begin, key_begin + key.n, atem->at);
    }
    size_t next = parameter < invoke_end ? parameter : invoke_end;
    if (next == SIZE_MAX && end == GLINT_ATEM_MORE)
        return false;
    atem->at = begin;
    skip_foreign(atem, next == SIZE_MAX ? atem->text.n : next);
    return true;
}

static bool parse_inside(struct glint_atem *atem, enum glint_atem_end end) {
    size_t begin = skip_space(atem, atem->at);
    if (begin == atem->text.n) {
        if (end == GLINT_ATEM_CLOSED)
            finish_call(atem);
        return false;
    }
    bool partial = false;
    for (int tag = TAG_INVOKE_END; tag <= TAG_CALLS_END; tag++) {
        if (tag == TAG_PARAMETER_END)
            continue;
        enum match match = match_at(atem, begin, tags[tag]);
        partial = partial || match == MATCH_PARTIAL;
        if (match != MATCH_YES)
            continue;
        atem->at = begin + strlen(tags[tag]);
        atem->seek = atem->at;
        atem->state = GLINT_ATEM_PARAMETER;
        if (tag != TAG_PARAMETER)
            finish_call(atem);
        return true;
    }
    if (partial && end == GLINT_ATEM_MORE)
        return false;
    return parse_stray(atem, begin, end);
}

// `name="KEY">` with other attributes around, or the damaged `="KEY">`.
static bool parse_parameter(struct glint_atem *atem) {
    enum match match = MATCH_NO;
    if (atem->seek == atem->at)
        match = match_at(atem, atem->at, "=\"");
    if (match == MATCH_YES)
        atem->seek = atem->at = atem->at + 2;
    else if (match == MATCH_NO)
        match = find_name(atem);
    if (match == MATCH_PARTIAL)
        return false;
    atem->state = GLINT_ATEM_KEY;
    if (match == MATCH_NO) { // without a name it is no parameter
        skip_foreign(atem, atem->seek + 1);
        atem->state = GLINT_ATEM_INSIDE;
    }
    return true;
}

static bool parse_key(struct glint_atem *atem) {
    const char *data = atem->text.data;
    while (atem->seek < atem->text.n && data[atem->seek] != '>')
        atem->seek++;
    if (atem->seek == atem->text.n)
        return false;
    const char *quote = memchr(data + atem->at, '"', atem->seek - atem->at);
    size_t key_end = quote ? (size_t)(quote - data) : atem->seek;
    return begin_value(atem, atem->at, key_end, atem->seek + 1);
}

// Whether what follows a value's closer is markup that may follow it.
static enum match closer_qualifies(struct glint_atem *atem, size_t closer,
                                   enum glint_atem_end end) {
    size_t at = skip_space(atem, closer + strlen(tags[TAG_PARAMETER_END]));
    if (at == atem->text.n)
        return end == GLINT_ATEM_MORE     ? MATCH_PARTIAL
               : end == GLINT_ATEM_CLOSED ? MATCH_YES
                                          : MATCH_NO;
    bool partial = false;
    for (int tag = TAG_INVOKE_END; tag <= TAG_CALLS_END; tag++) {
        if (tag == TAG_PARAMETER_END)
            continue;
        enum match match = match_at(atem, at, tags[tag]);
        if (match == MATCH_YES)
            return MATCH_YES;
        partial = partial || match == MATCH_PARTIAL;
    }
    return partial && end == GLINT_ATEM_MORE ? MATCH_PARTIAL : MATCH_NO;
}

static bool parse_value(struct glint_atem *atem, enum glint_atem_end end) {
    while (atem->value_from < atem->none_after) {
        size_t closer = find(atem, TAG_PARAMETER_END, atem->value_from);
        if (closer == SIZE_MAX)
            break;
        enum match match = closer_qualifies(atem, closer, end);
        if (match == MATCH_PARTIAL)
            return false;
        if (atem->first_closer == SIZE_MAX)
            atem->first_closer = closer;
        if (match == MATCH_YES) {
            finish_value(atem, closer);
            return true;
        }
        atem->value_from = closer + 1;
    }
    if (end == GLINT_ATEM_MORE)
        return false;
    // None qualifies from here to the end of the body: the first one closes the value.
    if (atem->none_after == SIZE_MAX)
        atem->none_after = atem->at;
    if (atem->first_closer == SIZE_MAX)
        atem->first_closer = find(atem, TAG_PARAMETER_END, atem->at);
    if (atem->first_closer == SIZE_MAX)
        return false;
    finish_value(atem, atem->first_closer);
    return true;
}

void glint_atem_parse(struct glint_atem *atem, enum glint_atem_end end) {
    bool moved = true;
    while (moved && !atem->failed) {
        switch (atem->state) {
        case GLINT_ATEM_OUTSIDE:
            moved = parse_outside(atem, end);
            break;
        case GLINT_ATEM_INVOKE:
            moved = parse_invoke(atem);
            break;
        case GLINT_ATEM_NAME:
            moved = parse_name(atem);
            break;
        case GLINT_ATEM_INSIDE:
            moved = parse_inside(atem, end);
            break;
        case GLINT_ATEM_PARAMETER:
            moved = parse_parameter(atem);
            break;
        case GLINT_ATEM_KEY:
            moved = parse_key(atem);
            break;
        default:
            moved = parse_value(atem, end);
            break;
        }
    }
    if (end != GLINT_ATEM_MORE && atem->state != GLINT_ATEM_OUTSIDE && !atem->failed) {
        atem->at = atem->tag_begin;
        skip_foreign(atem, atem->text.n);
    }
}

bool glint_atem_is_pure(const struct glint_atem *atem) {
    bool pure = atem->dropped.n == 0 && atem->n_calls != 0 && atem->n_calls == atem->n_invokes;
    for (size_t i = 0; i < atem->n_calls && pure; i++) {
        const struct glint_atem_call *call = &atem->calls[i];
        struct glint_view name = {.data = atem->text.data + call->name_begin,
                                  .n = call->name_end - call->name_begin};
        pure = glint_tool_set_resolve(atem->tools, name) != NULL;
    }
    return pure;
}

struct glint_view glint_atem_name(const struct glint_atem *atem,
                                  const struct glint_atem_call *call) {
    if (call->tool)
        return call->tool->name;
    return (struct glint_view){.data = atem->text.data + call->name_begin,
                               .n = call->name_end - call->name_begin};
}

bool glint_atem_in_value(struct glint_atem *atem) {
    if (atem->state != GLINT_ATEM_VALUE)
        return false;
    // A closer with nothing but white space behind it may still turn out to be the one.
    const struct glint_atem_search *search = &atem->searches[TAG_PARAMETER_END];
    bool pending = search->valid && search->found && search->at >= atem->value_from &&
                   closer_qualifies(atem, search->at, GLINT_ATEM_MORE) == MATCH_PARTIAL;
    return !pending;
}

void glint_atem_put_arguments(const struct glint_atem *atem, const struct glint_atem_call *call,
                              struct glint_buffer *out) {
    const struct glint_json *root = call->tool ? call->tool->parameters : NULL;
    glint_buffer_append_char(out, '{');
    for (size_t i = 0; i < call->n_params; i++) {
        const struct glint_atem_range *param = &atem->params[call->i_param + i];
        struct glint_view key = {.data = atem->text.data + param->key_begin,
                                 .n = param->key_end - param->key_begin};
        struct glint_view value = {.data = atem->text.data + param->value_begin,
                                   .n = param->value_end - param->value_begin};
        if (i != 0)
            glint_buffer_append_text(out, ", ");
        glint_argument_put_string(out, key);
        glint_buffer_append_text(out, ": ");
        glint_argument_put(out, value, glint_tool_property(call->tool, key), root);
    }
    glint_buffer_append_char(out, '}');
}
