// SPDX-License-Identifier: Apache-2.0
// stream_fixture.c — see stream_fixture.h.
#include "stream_fixture.h"

#include "../token/token_fixture.h"
#include "base/alloc.h"
#include "base/utf8.h"

#include <string.h>

void stream_output_fini(struct stream_output *output) {
    glint_buffer_fini(&output->text);
    glint_free(output->pieces);
    *output = (struct stream_output){.pieces = NULL};
}

void stream_output_add(struct stream_output *output, enum glint_stream_input input,
                       struct glint_view text) {
    size_t begin = output->text.n;
    glint_buffer_append(&output->text, text.data, text.n);
    if (input == GLINT_INPUT_TEXT && output->n != 0 &&
        output->pieces[output->n - 1].input == GLINT_INPUT_TEXT) {
        output->pieces[output->n - 1].end = output->text.n;
        return;
    }
    output->pieces = glint_realloc(output->pieces, output->n + 1, sizeof *output->pieces);
    assert_non_null(output->pieces);
    output->pieces[output->n++] =
        (struct stream_piece){.input = input, .begin = begin, .end = output->text.n};
}

void stream_output_add_id(struct stream_output *output, const struct glint_vocab *vocab,
                          int32_t id) {
    const struct glint_dialect *dialect = glint_vocab_dialect(vocab);
    struct glint_view none = {.data = "", .n = 0};
    if (id == dialect->start)
        stream_output_add(output, GLINT_INPUT_START, none);
    else if (id == dialect->message)
        stream_output_add(output, GLINT_INPUT_MESSAGE, none);
    else if (id == dialect->eom)
        stream_output_add(output, GLINT_INPUT_EOM, none);
    else if (id == dialect->eot || id == dialect->end_of_text)
        stream_output_add(output, GLINT_INPUT_END, none);
    else if (!glint_vocab_is_special(vocab, id))
        stream_output_add(output, GLINT_INPUT_TEXT, glint_vocab_bytes(vocab, id));
}

struct check {
    struct glint_message *message;
    bool finished;
};

static void on_event(void *context, const struct glint_turn_event *event) {
    struct check *check = context;
    if (event->kind != GLINT_TURN_REMAINS) {
        assert_false(check->finished);
        assert_true(glint_utf8_is_valid(event->text, event->n));
    }
    if (event->kind == GLINT_TURN_CALL)
        assert_int_equal(event->index, check->message->n_calls);
    check->finished = check->finished || event->kind == GLINT_TURN_FINISH;
    glint_message_on_event(check->message, event);
}

void stream_output_run(const struct stream_output *output,
                       const struct glint_stream_options *options, bool limit, enum stream_cut cut,
                       uint64_t *random, struct glint_message *message) {
    struct check check = {.message = message};
    struct glint_stream_options own = *options;
    struct glint_stream *stream = NULL;
    own.on_event = on_event;
    own.context = &check;
    assert_int_equal(glint_stream_open(&stream, &own, NULL), GLINT_OK);
    for (size_t i = 0; i < output->n; i++) {
        struct stream_piece piece = output->pieces[i];
        size_t at = piece.begin;
        do {
            size_t n = piece.end - at;
            if (cut == STREAM_CUT_BYTES && n > 1)
                n = 1;
            if (cut == STREAM_CUT_RANDOM && n > 1)
                n = 1 + token_fixture_random(random, n < 20 ? (uint32_t)n : 20);
            struct glint_view part = {.data = output->text.data + at, .n = n};
            assert_int_equal(glint_stream_put(stream, piece.input, part), GLINT_OK);
            at += n;
        } while (at < piece.end);
    }
    struct glint_view none = {.data = "", .n = 0};
    enum glint_stream_input end = limit ? GLINT_INPUT_LIMIT : GLINT_INPUT_END;
    assert_int_equal(glint_stream_put(stream, end, none), GLINT_OK);
    assert_true(glint_stream_is_done(stream));
    assert_true(message->finished);
    struct glint_stream_count count = glint_stream_counts(stream);
    assert_int_equal(count.text_bytes,
                     count.framing + count.reasoning + count.content + count.calls + count.remains);
    assert_int_equal(count.remains, message->remains.n);
    assert_int_equal(count.n_calls, message->n_calls);
    glint_stream_close(&stream);
}

static bool same(const struct glint_buffer *a, const struct glint_buffer *b) {
    return a->n == b->n && (a->n == 0 || memcmp(a->data, b->data, a->n) == 0);
}

bool stream_messages_equal(const struct glint_message *a, const struct glint_message *b) {
    bool equal = same(&a->reasoning, &b->reasoning) && same(&a->content, &b->content) &&
                 same(&a->remains, &b->remains) && a->n_calls == b->n_calls &&
                 a->reason == b->reason;
    for (size_t i = 0; equal && i < a->n_calls; i++)
        equal = same(&a->calls[i].name, &b->calls[i].name) &&
                same(&a->calls[i].arguments, &b->calls[i].arguments);
    return equal;
}
