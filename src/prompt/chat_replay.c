// SPDX-License-Identifier: Apache-2.0
// chat_replay.c — stand-ins in, places out.
#include "prompt/chat_replay.h"

#include <stdio.h>
#include <string.h>

static const char before[] = "<|start|>assistant to=user<|message|>";
static const char behind[] = "<|eot|>";

enum {
    MARK_BYTES = 48,
    OPENING_BYTES = sizeof("<|start|>assistant") - 1 // of `before`: stays in front of the ids
};

static struct glint_view mark_of(size_t index, char storage[MARK_BYTES]) {
    int n = snprintf(storage, MARK_BYTES, "\x1a replay of message %zu \x1a", index);
    return (struct glint_view){.data = storage, .n = (size_t)n};
}

static bool is_answer(struct glint_value message) {
    struct glint_value *role =
        message.kind == GLINT_VALUE_DICT ? glint_dict_get_text(message.as.dict, "role") : NULL;
    return role && glint_value_is_string(*role, "assistant");
}

static struct glint_dict *make_stand_in(struct glint_heap *heap, size_t index) {
    char storage[MARK_BYTES];
    struct glint_value role;
    const struct glint_string *mark =
        glint_string_make(heap, mark_of(index, storage), GLINT_ORIGIN_CALLER);
    struct glint_dict *dict = glint_dict_make(heap, 2);
    bool ok = mark && dict && glint_value_literal(heap, "assistant", &role) &&
              glint_dict_put_text(heap, dict, "role", role) &&
              glint_dict_put_text(heap, dict, "content", glint_value_string(mark));
    return ok ? dict : NULL;
}

enum glint_status glint_replay_hide(struct glint_heap *heap, struct glint_list *messages,
                                    const struct glint_replays *replays, struct glint_error *err) {
    for (size_t i = 0; i < replays->n; i++) {
        size_t index = replays->data[i].index;
        if (index >= messages->n || (i > 0 && index <= replays->data[i - 1].index))
            return glint_fail(err, GLINT_E_ARG,
                              "replays[%zu].index: found %zu of %zu messages, expected one after "
                              "the other",
                              i, index, messages->n);
        if (!is_answer(messages->items[index]) || replays->data[i].n == 0)
            return glint_fail(err, GLINT_E_ARG,
                              "replays[%zu]: messages[%zu] is not an assistant's, or has no ids", i,
                              index);
        struct glint_dict *dict = make_stand_in(heap, index);
        if (!dict)
            return glint_fail(err, GLINT_E_NOMEM, "messages[%zu]: no memory", index);
        messages->items[index] = (struct glint_value){.kind = GLINT_VALUE_DICT, .as.dict = dict};
    }
    return GLINT_OK;
}

static bool has_around(const struct glint_buffer *bytes, struct glint_byte_range range) {
    size_t n_before = sizeof before - 1, n_behind = sizeof behind - 1;
    return range.begin >= n_before && bytes->n - range.end >= n_behind &&
           memcmp(bytes->data + range.begin - n_before, before, n_before) == 0 &&
           memcmp(bytes->data + range.end, behind, n_behind) == 0;
}

bool glint_replay_find(const struct glint_sink *text, const struct glint_replays *replays,
                       struct glint_chat_splice *splices) {
    size_t n = 0;
    for (size_t i = 0; i < text->n_ranges && n < replays->n; i++) {
        char storage[MARK_BYTES];
        struct glint_byte_range range = text->ranges[i];
        struct glint_view found = {.data = text->bytes.data + range.begin,
                                   .n = range.end - range.begin};
        if (!glint_view_equal(found, mark_of(replays->data[n].index, storage)) ||
            !has_around(&text->bytes, range))
            continue;
        size_t n_cut = (sizeof before - 1) - OPENING_BYTES;
        splices[n] = (struct glint_chat_splice){.begin = range.begin - n_cut,
                                                .end = range.end + sizeof behind - 1,
                                                .ids = replays->data[n].ids,
                                                .n = replays->data[n].n};
        n++;
    }
    return n == replays->n;
}
