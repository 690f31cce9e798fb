// SPDX-License-Identifier: Apache-2.0
// chat.c — rendering a conversation, and continuing its last message.
#include "prompt/chat.h"

#include <string.h>

void glint_prompt_fini(struct glint_prompt *prompt) {
    glint_sink_fini(&prompt->text);
    prompt->start = GLINT_TURN_HEADER;
}

static bool mentions(struct glint_view source, const char *word) {
    size_t n = strlen(word);
    for (size_t at = 0; at + n <= source.n; at++) {
        if (memcmp(source.data + at, word, n) == 0)
            return true;
    }
    return false;
}

bool glint_chat_is_dialect(struct glint_view source) {
    return mentions(source, "<atem:function_calls>") && mentions(source, "<|eom|>") &&
           mentions(source, "reasoning_strength");
}

// The caller's variables first, so that they cannot replace those set here.
static struct glint_dict *make_variables(struct glint_heap *heap,
                                         const struct glint_chat_input *input,
                                         struct glint_value messages) {
    struct glint_dict *dict = glint_dict_make(heap, 16);
    struct glint_value bos;
    struct glint_value eos;
    if (!dict || !glint_value_literal(heap, "<|begin_of_text|>", &bos) ||
        !glint_value_literal(heap, "<|end_of_text|>", &eos))
        return NULL;
    bool ok = true;
    for (size_t i = 0; ok && input->variables && i < input->variables->n; i++)
        ok = glint_dict_put(heap, dict, input->variables->entries[i].key,
                            input->variables->entries[i].value);
    ok = ok && glint_dict_put_text(heap, dict, "bos_token", bos);
    ok = ok && glint_dict_put_text(heap, dict, "eos_token", eos);
    ok = ok && glint_dict_put_text(heap, dict, "messages", messages);
    if (input->chat.tools.kind != GLINT_VALUE_UNDEFINED)
        ok = ok && glint_dict_put_text(heap, dict, "tools", input->chat.tools);
    bool generate = !input->no_generation_prompt && !input->continue_final;
    ok = ok && glint_dict_put_text(heap, dict, "add_generation_prompt", glint_value_bool(generate));
    return ok ? dict : NULL;
}

static enum glint_status fail_continue(struct glint_error *err, size_t index, const char *what) {
    return glint_fail(err, GLINT_E_ARG, "messages[%zu]: cannot be continued: %s", index, what);
}

// The text of a content: a string, parts, or nothing.
static bool put_content(struct glint_sink *sink, struct glint_value content) {
    if (content.kind == GLINT_VALUE_STRING)
        glint_sink_put_text(sink, content.as.text);
    bool parts = glint_value_is_list(content);
    for (size_t i = 0; parts && i < content.as.list->n; i++) {
        struct glint_value part = content.as.list->items[i];
        if (part.kind != GLINT_VALUE_DICT)
            return false;
        struct glint_value *type = glint_dict_get_text(part.as.dict, "type");
        struct glint_value *text = glint_dict_get_text(part.as.dict, "text");
        if (type && glint_value_is_string(*type, "text") && text &&
            text->kind == GLINT_VALUE_STRING)
            glint_sink_put_text(sink, text->as.text);
        else if (type && glint_value_is_string(*type, "image"))
            glint_sink_put_literal(sink, "<|patch|>");
        else if (type && glint_value_is_string(*type, "video"))
            glint_sink_put_literal(sink, "<|video|>");
        else
            return false;
    }
    return parts || content.kind == GLINT_VALUE_STRING || content.kind == GLINT_VALUE_NONE;
}

// Writes the last message so that the model goes on inside it.
static enum glint_status put_continued(const struct glint_list *messages,
                                       struct glint_prompt *prompt, struct glint_error *err) {
    size_t index = messages->n - 1;
    struct glint_sink *sink = &prompt->text;
    const struct glint_dict *last = messages->items[index].as.dict;
    struct glint_value *calls = glint_dict_get_text(last, "tool_calls");
    struct glint_value *reasoning = glint_dict_get_text(last, "reasoning_content");
    struct glint_value *content = glint_dict_get_text(last, "content");
    if (calls && glint_value_truth(*calls))
        return fail_continue(err, index, "it has tool_calls");
    bool has_reasoning = reasoning && glint_value_truth(*reasoning);
    bool has_content = content && glint_value_truth(*content);
    if (has_reasoning && reasoning->kind != GLINT_VALUE_STRING)
        return fail_continue(err, index, "reasoning_content is not a string");
    glint_sink_put_literal(sink, "<|start|>assistant");
    prompt->start = GLINT_TURN_HEADER;
    if (has_reasoning) {
        glint_sink_put_literal(sink, " to=self<|message|>");
        glint_sink_put_text(sink, reasoning->as.text);
        prompt->start = GLINT_TURN_SELF;
    }
    if (has_content) {
        if (has_reasoning)
            glint_sink_put_literal(sink, "<|eom|><|start|>assistant");
        glint_sink_put_literal(sink, " to=user<|message|>");
        prompt->start = GLINT_TURN_USER;
        if (!put_content(sink, *content))
            return fail_continue(err, index, "its content is neither a string nor parts");
    }
    if (sink->full)
        return glint_fail(err, sink->over_limit ? GLINT_E_LIMIT : GLINT_E_NOMEM,
                          "messages[%zu]: the prompt is too long", index);
    return GLINT_OK;
}

// All messages but the last, which must be an assistant's.
static enum glint_status split_final(struct glint_heap *heap, const struct glint_chat_input *input,
                                     struct glint_value *earlier, struct glint_error *err) {
    const struct glint_list *all = input->chat.messages.as.list;
    if (all->n == 0)
        return glint_fail(err, GLINT_E_ARG, "messages: none to continue");
    struct glint_value last = all->items[all->n - 1];
    struct glint_value *role =
        last.kind == GLINT_VALUE_DICT ? glint_dict_get_text(last.as.dict, "role") : NULL;
    if (!role || !glint_value_is_string(*role, "assistant"))
        return fail_continue(err, all->n - 1, "its role is not assistant");
    struct glint_list *list = glint_list_make(heap, 0);
    if (!list)
        return glint_fail(err, GLINT_E_NOMEM, "messages: no memory");
    *list = (struct glint_list){.items = all->items, .n = all->n - 1};
    *earlier = (struct glint_value){.kind = GLINT_VALUE_LIST, .as.list = list};
    return GLINT_OK;
}

enum glint_status glint_chat_render(const struct glint_template *t,
                                    const struct glint_chat_input *input, struct glint_heap *heap,
                                    struct glint_prompt *prompt, struct glint_error *err) {
    struct glint_value messages = input->chat.messages;
    if (!glint_value_is_list(messages))
        return glint_fail(err, GLINT_E_ARG, "messages: expected a list, found %s",
                          glint_value_kind_name(messages));
    if (input->continue_final)
        GLINT_TRY(split_final(heap, input, &messages, err));
    struct glint_template_input template_input = {
        .variables = make_variables(heap, input, messages),
        .clock = input->clock,
        .max_steps = input->max_steps,
    };
    if (!template_input.variables)
        return glint_fail(err, heap->failed ? GLINT_E_LIMIT : GLINT_E_NOMEM,
                          "messages: no memory for the variables of the template");
    prompt->start = GLINT_TURN_HEADER;
    GLINT_TRY(glint_template_render(t, &template_input, heap, &prompt->text, err));
    if (input->continue_final)
        return put_continued(input->chat.messages.as.list, prompt, err);
    return GLINT_OK;
}
