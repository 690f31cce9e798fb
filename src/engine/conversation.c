// SPDX-License-Identifier: Apache-2.0
// conversation.c — the public face of prompt/: requests in JSON to prompt text.
#include "engine/engine.h"

#include "base/alloc.h"
#include "format/gguf.h"
#include "prompt/chat_replay.h"

#include <stdio.h>
#include <string.h>

struct glint_chat {
    struct glint_template *compiled;
    struct glint_view source; // of the file, or the publisher's
    bool native;
};

enum glint_status glint_chat_open(struct glint_chat **chat, const struct glint_engine *engine,
                                  struct glint_error *err) {
    struct glint_view source = glint_view_of(glint_chat_default_template);
    *chat = NULL;
    GLINT_TRY(glint_gguf_opt_string(engine->files.gguf, "tokenizer.chat_template", &source, err));
    *chat = glint_alloc(1, sizeof **chat);
    if (!*chat)
        return glint_fail(err, GLINT_E_NOMEM, "chat: no memory");
    (*chat)->source = source;
    (*chat)->native = glint_chat_is_dialect(source);
    enum glint_status status = glint_template_open(&(*chat)->compiled, source, err);
    if (status != GLINT_OK) {
        glint_chat_close(chat);
        return glint_fail_in(err, status, "%s: tokenizer.chat_template", engine->files.gguf->path);
    }
    return GLINT_OK;
}

void glint_chat_close(struct glint_chat **chat) {
    if (*chat)
        glint_template_close(&(*chat)->compiled);
    glint_free(*chat);
    *chat = NULL;
}

bool glint_chat_is_native(const struct glint_chat *chat) {
    return chat->native;
}

const char *glint_chat_template(const struct glint_chat *chat, size_t *n) {
    *n = chat->source.n;
    return chat->source.data;
}

// A JSON text of the request as a value of the caller's; undefined when absent or null.
static enum glint_status read_json(struct glint_heap *heap, struct glint_json_text text,
                                   const char *name, struct glint_value *value,
                                   struct glint_error *err) {
    struct glint_json_options options = {.repair_surrogates = true, .name = name};
    struct glint_json_doc *doc = NULL;
    *value = glint_value_undefined(NULL);
    if (!text.data)
        return GLINT_OK;
    GLINT_TRY(glint_json_parse(&doc, (struct glint_view){text.data, text.n}, &options, err));
    const struct glint_json *root = glint_json_root(doc);
    bool made = root->kind == GLINT_JSON_NULL ||
                glint_value_from_json(heap, root, GLINT_ORIGIN_CALLER, value);
    glint_json_close(&doc);
    return made ? GLINT_OK : glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name);
}

static bool in_range(int value, int least, int most) {
    return value >= least && value <= most;
}

static struct glint_template_clock read_clock(const char *date) {
    struct glint_template_clock clock = {.present = date != NULL};
    char rest = 0;
    if (!date)
        return clock;
    int n = sscanf(date, "%4d-%2d-%2d %2d:%2d:%2d%c", &clock.year, &clock.month, &clock.day,
                   &clock.hour, &clock.minute, &clock.second, &rest);
    bool known = (n == 6 || (n == 3 && strlen(date) == 10)) && in_range(clock.year, 1, 9999) &&
                 in_range(clock.month, 1, 12) && in_range(clock.day, 1, 31) &&
                 in_range(clock.hour, 0, 23) && in_range(clock.minute, 0, 59) &&
                 in_range(clock.second, 0, 60);
    if (!known)
        clock.answer = glint_view_of(date);
    return clock;
}

// The request's variables, with its effort unless they set a level themselves.
static enum glint_status read_variables(struct glint_heap *heap,
                                        const struct glint_chat_request *request,
                                        struct glint_dict **out, struct glint_error *err) {
    struct glint_value value;
    GLINT_TRY(read_json(heap, request->variables, "variables", &value, err));
    if (value.kind != GLINT_VALUE_UNDEFINED && value.kind != GLINT_VALUE_DICT)
        return glint_fail(err, GLINT_E_ARG, "variables: expected an object, found %s",
                          glint_value_kind_name(value));
    struct glint_dict *dict =
        value.kind == GLINT_VALUE_DICT ? value.as.dict : glint_dict_make(heap, 1);
    const char *level = request->effort;
    if (level && request->normalise) {
        level = glint_chat_effort(glint_view_of(level));
        if (!level)
            return glint_fail(err, GLINT_E_ARG,
                              "effort: found \"%s\", expected low, medium, high or xhigh",
                              request->effort);
    }
    bool ok = dict != NULL;
    if (ok && level && !glint_dict_get_text(dict, "reasoning_strength")) {
        const struct glint_string *text =
            glint_string_make(heap, glint_view_of(level), GLINT_ORIGIN_CALLER);
        ok =
            text && glint_dict_put_text(heap, dict, "reasoning_strength", glint_value_string(text));
    }
    *out = dict;
    return ok ? GLINT_OK : glint_fail(err, GLINT_E_NOMEM, "variables: no memory");
}

static enum glint_status render(const struct glint_chat *chat,
                                const struct glint_chat_request *request,
                                const struct glint_replays *replays, struct glint_heap *heap,
                                struct glint_prompt *prompt, struct glint_error *err) {
    struct glint_chat_input input = {.clock = read_clock(request->date),
                                     .no_generation_prompt = request->no_generation_prompt,
                                     .continue_final = request->continue_final};
    struct glint_dict *variables = NULL;
    GLINT_TRY(read_json(heap, request->messages, "messages", &input.chat.messages, err));
    GLINT_TRY(read_json(heap, request->tools, "tools", &input.chat.tools, err));
    GLINT_TRY(read_variables(heap, request, &variables, err));
    input.variables = variables;
    if (request->normalise)
        GLINT_TRY(glint_chat_normalise(heap, &input.chat, &input.chat, err));
    if (request->continue_final && !chat->native)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "messages: only this model's own template can continue a message");
    if (replays->n != 0)
        GLINT_TRY(glint_replay_hide(heap, input.chat.messages.as.list, replays, err));
    return glint_chat_render(chat->compiled, &input, heap, prompt, err);
}

// Renders with replays, or without when the template does not let them stand; *splices is theirs.
static enum glint_status render_spliced(const struct glint_chat *chat,
                                        const struct glint_chat_request *request,
                                        struct glint_prompt *prompt, struct glint_chat_prompt *out,
                                        struct glint_error *err) {
    struct glint_replays replays = {request->replays, chat->native ? request->n_replays : 0};
    struct glint_heap heap = {.max_bytes = 0};
    if (replays.n != 0 && !request->normalise)
        return glint_fail(err, GLINT_E_ARG, "replays: only in a request that is normalised");
    out->splices = glint_alloc(replays.n, sizeof *out->splices);
    if (!out->splices)
        return glint_fail(err, GLINT_E_NOMEM, "prompt: no memory");
    enum glint_status status = render(chat, request, &replays, &heap, prompt, err);
    out->n_splices = replays.n;
    if (status == GLINT_OK && !glint_replay_find(&prompt->text, &replays, out->splices)) {
        out->n_splices = replays.n = 0;
        glint_prompt_fini(prompt);
        *prompt = (struct glint_prompt){.start = GLINT_TURN_HEADER};
        status = render(chat, request, &replays, &heap, prompt, err);
    }
    glint_heap_fini(&heap);
    return status;
}

enum glint_status glint_chat_prompt(const struct glint_chat *chat,
                                    const struct glint_chat_request *request,
                                    struct glint_chat_prompt *prompt, struct glint_error *err) {
    struct glint_prompt made = {.start = GLINT_TURN_HEADER};
    *prompt = (struct glint_chat_prompt){.data = NULL};
    enum glint_status status = render_spliced(chat, request, &made, prompt, err);
    if (status == GLINT_OK && !glint_buffer_reserve(&made.text.bytes, 0)) // also when empty
        status = glint_fail(err, GLINT_E_NOMEM, "prompt: no memory");
    if (status == GLINT_OK) {
        prompt->data = made.text.bytes.data;
        prompt->n = made.text.bytes.n;
        prompt->untrusted = made.text.ranges;
        prompt->n_untrusted = made.text.n_ranges;
        prompt->start = made.start;
        made = (struct glint_prompt){.start = GLINT_TURN_HEADER}; // handed over
    } else {
        glint_chat_prompt_free(prompt);
    }
    glint_prompt_fini(&made);
    return status;
}

void glint_chat_prompt_free(struct glint_chat_prompt *prompt) {
    glint_free(prompt->data);
    glint_free(prompt->untrusted);
    glint_free(prompt->splices);
    *prompt = (struct glint_chat_prompt){.data = NULL};
}

static bool append(struct glint_ids *list, const int32_t *ids, size_t n) {
    int32_t *grown = glint_realloc(list->data, list->n + n, sizeof *grown);
    if (!grown)
        return false;
    if (n != 0)
        memcpy(grown + list->n, ids, n * sizeof *ids);
    *list = (struct glint_ids){grown, list->n + n};
    return true;
}

// The ids of bytes [begin, end), appended; ranges is room for all ranges of the prompt.
static enum glint_status append_part(const struct glint_engine *engine,
                                     const struct glint_chat_prompt *prompt,
                                     struct glint_byte_range part, struct glint_byte_range *ranges,
                                     struct glint_ids *list, struct glint_error *err) {
    struct glint_text text = {.data = prompt->data + part.begin,
                              .n = part.end - part.begin,
                              .special = true,
                              .untrusted = ranges};
    for (size_t i = 0; i < prompt->n_untrusted; i++) {
        struct glint_byte_range range = prompt->untrusted[i];
        if (range.begin >= part.begin && range.end <= part.end) // none crosses a splice's border
            ranges[text.n_untrusted++] =
                (struct glint_byte_range){range.begin - part.begin, range.end - part.begin};
    }
    struct glint_ids ids;
    GLINT_TRY(glint_tokenize(engine, &text, &ids, err));
    bool ok = append(list, ids.data, ids.n);
    glint_ids_free(&ids);
    return ok ? GLINT_OK : glint_fail(err, GLINT_E_NOMEM, "prompt: no memory");
}

enum glint_status glint_chat_prompt_ids(const struct glint_engine *engine,
                                        const struct glint_chat_prompt *prompt,
                                        struct glint_ids *ids, struct glint_error *err) {
    struct glint_byte_range *ranges = glint_alloc(prompt->n_untrusted, sizeof *ranges);
    struct glint_byte_range part = {.begin = 0};
    enum glint_status status =
        ranges ? GLINT_OK : glint_fail(err, GLINT_E_NOMEM, "prompt: no memory");
    *ids = (struct glint_ids){0};
    for (size_t i = 0; i <= prompt->n_splices && status == GLINT_OK; i++) {
        const struct glint_chat_splice *splice = i < prompt->n_splices ? &prompt->splices[i] : NULL;
        part.end = splice ? splice->begin : prompt->n;
        status = append_part(engine, prompt, part, ranges, ids, err);
        if (!splice || status != GLINT_OK)
            break;
        if (!append(ids, splice->ids, splice->n))
            status = glint_fail(err, GLINT_E_NOMEM, "prompt: no memory");
        part.begin = splice->end;
    }
    glint_free(ranges);
    if (status != GLINT_OK)
        glint_ids_free(ids);
    return status;
}
