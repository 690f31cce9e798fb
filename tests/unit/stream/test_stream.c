// SPDX-License-Identifier: Apache-2.0
// test_stream.c — every case of parse.jsonl whole, byte by byte and at random cuts; mutated
// outputs; stop strings; the reasoning budget.
#include "../token/token_fixture.h"
#include "chat_cases.h"
#include "stream_fixture.h"

enum { N_RANDOM_CUTS = 20, N_MUTATIONS = 10000 };

static struct glint_vocab *vocab;

static int open_vocab(void **state) {
    (void)state;
    vocab = token_fixture_vocab(false);
    return 0;
}

static int close_vocab(void **state) {
    (void)state;
    glint_vocab_close(&vocab);
    return 0;
}

// JSON values as Python compares them: numbers by value, objects without regard to order.
static bool json_equal(const struct glint_json *a, const struct glint_json *b) {
    if (!a || !b || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case GLINT_JSON_NULL:
        return true;
    case GLINT_JSON_BOOL:
        return a->truth == b->truth;
    case GLINT_JSON_NUMBER:
        if (glint_json_is_int(a) && glint_json_is_int(b))
            return glint_view_equal(a->text, b->text);
        return glint_json_parse_double(a->text) == glint_json_parse_double(b->text);
    case GLINT_JSON_STRING:
        return glint_view_equal(a->text, b->text);
    case GLINT_JSON_ARRAY:
        if (a->n != b->n)
            return false;
        a = glint_json_first(a);
        b = glint_json_first(b);
        for (; a; a = a->next, b = b->next) {
            if (!json_equal(a, b))
                return false;
        }
        return true;
    case GLINT_JSON_OBJECT:
        if (a->n != b->n)
            return false;
        for (const struct glint_json *m = glint_json_first(a); m; m = m->next) {
            if (!json_equal(m, glint_json_get_view(b, m->key)))
                return false;
        }
        return true;
    }
    return false;
}

static void check_message(const struct glint_json *c, const struct glint_message *message) {
    struct glint_buffer text = {.data = NULL};
    struct glint_json_doc *doc = NULL;
    struct glint_error err;
    glint_message_put_json(message, &text);
    if (glint_json_parse(&doc, (struct glint_view){text.data, text.n}, NULL, &err) != GLINT_OK)
        fail_msg("%s: %s in %s", case_text(c, "id").data, err.text, text.data);
    if (!json_equal(glint_json_root(doc), glint_json_get(c, "expected")))
        fail_msg("%s: found %s", case_text(c, "id").data, text.data);
    glint_json_close(&doc);
    glint_buffer_fini(&text);
}

// The options of a case; tools must outlive them.
static struct glint_stream_options case_options(const struct glint_json *c,
                                                struct glint_tool_set *tools) {
    struct glint_stream_options options = {.tools = tools};
    struct glint_view channel = case_text(c, "initial_channel");
    assert_int_equal(glint_tool_set_init(tools, glint_json_get(c, "tools"), NULL), GLINT_OK);
    options.no_calls = glint_view_is(case_text(c, "tool_choice"), "none");
    options.start = channel.n == 0                   ? GLINT_TURN_HEADER
                    : glint_view_is(channel, "self") ? GLINT_TURN_SELF
                                                     : GLINT_TURN_USER;
    return options;
}

static struct stream_output case_output(const struct glint_json *c) {
    struct stream_output output = {.pieces = NULL};
    const struct glint_json *ids = glint_json_get(c, "ids");
    for (const struct glint_json *m = glint_json_first(ids); m; m = m->next) {
        int64_t id = 0;
        assert_true(glint_json_to_i64(m, &id));
        stream_output_add_id(&output, vocab, (int32_t)id);
    }
    return output;
}

static void parse_cases(void **state) {
    (void)state;
    struct chat_cases cases = chat_cases_open("fixtures/chat/parse.jsonl");
    uint64_t random = 1;
    int n = 0;
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL; n++) {
        struct glint_tool_set tools;
        struct glint_stream_options options = case_options(c, &tools);
        struct stream_output output = case_output(c);
        bool limit = glint_view_is(case_text(c, "end"), "length");
        struct glint_message whole = {.calls = NULL};
        stream_output_run(&output, &options, limit, STREAM_CUT_WHOLE, &random, &whole);
        check_message(c, &whole);
        for (int i = 0; i <= N_RANDOM_CUTS; i++) {
            struct glint_message cut = {.calls = NULL};
            stream_output_run(&output, &options, limit,
                              i == 0 ? STREAM_CUT_BYTES : STREAM_CUT_RANDOM, &random, &cut);
            if (!stream_messages_equal(&whole, &cut))
                fail_msg("%s: differs when cut", case_text(c, "id").data);
            glint_message_fini(&cut);
        }
        glint_message_fini(&whole);
        stream_output_fini(&output);
        glint_tool_set_fini(&tools);
    }
    assert_int_equal(n, 112);
}

// Id by id through the vocabulary, as an engine does it.
static void parse_cases_by_id(void **state) {
    (void)state;
    struct chat_cases cases = chat_cases_open("fixtures/chat/parse.jsonl");
    for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL;) {
        struct glint_tool_set tools;
        struct glint_message message = {.calls = NULL};
        struct glint_stream_options options = case_options(c, &tools);
        struct glint_stream *stream = NULL;
        options.on_event = glint_message_on_event;
        options.context = &message;
        assert_int_equal(glint_stream_open(&stream, &options, NULL), GLINT_OK);
        const struct glint_json *ids = glint_json_get(c, "ids");
        for (const struct glint_json *m = glint_json_first(ids); m; m = m->next) {
            int64_t id = 0;
            glint_json_to_i64(m, &id);
            assert_int_equal(glint_stream_put_id(stream, vocab, (int32_t)id), GLINT_OK);
        }
        bool limit = glint_view_is(case_text(c, "end"), "length");
        enum glint_stream_input end = limit ? GLINT_INPUT_LIMIT : GLINT_INPUT_END;
        glint_stream_put(stream, end, (struct glint_view){"", 0});
        check_message(c, &message);
        glint_stream_close(&stream);
        glint_message_fini(&message);
        glint_tool_set_fini(&tools);
    }
}

// Markers that are single ids must never show up as text that is visible.
static bool has_marker(const struct glint_buffer *text) {
    static const char *const markers[] = {"<|start|>", "<|message|>", "<|eom|>", "<|eot|>",
                                          "<|end_of_text|>"};
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        if (text->n != 0 && strstr(text->data, markers[i]))
            return true;
    }
    return false;
}

static void mutate(struct stream_output *output, uint64_t *random) {
    uint32_t n = 1 + token_fixture_random(random, 4);
    for (uint32_t i = 0; i < n && output->n != 0; i++) {
        size_t at = token_fixture_random(random, (uint32_t)output->n);
        struct stream_piece *piece = &output->pieces[at];
        switch (token_fixture_random(random, 4)) {
        case 0: // lose a marker or a text
            memmove(piece, piece + 1, (--output->n - at) * sizeof *piece);
            break;
        case 1: // another marker
            piece->input =
                (enum glint_stream_input)(1 + token_fixture_random(random, GLINT_INPUT_END));
            piece->end = piece->begin;
            break;
        case 2: // a text ends early
            if (piece->end > piece->begin)
                piece->end -= token_fixture_random(random, (uint32_t)(piece->end - piece->begin));
            break;
        default: // another byte
            if (piece->end > piece->begin)
                output->text
                    .data[piece->begin +
                          token_fixture_random(random, (uint32_t)(piece->end - piece->begin))] =
                    "<>/=\"|at: \n\xc3\xff"[token_fixture_random(random, 13)];
            break;
        }
    }
}

static void fail_cut(const struct glint_json *c, int n, const struct glint_message *whole,
                     const struct glint_message *bytes) {
    struct glint_buffer a = {.data = NULL};
    struct glint_buffer b = {.data = NULL};
    glint_message_put_json(whole, &a);
    glint_message_put_json(bytes, &b);
    fail_msg("%s, mutation %d: whole %s, byte by byte %s", case_text(c, "id").data, n, a.data,
             b.data);
}

static void mutated_outputs(void **state) {
    (void)state;
    uint64_t random = 7;
    int n = 0;
    while (n < N_MUTATIONS) {
        struct chat_cases cases = chat_cases_open("fixtures/chat/parse.jsonl");
        for (const struct glint_json *c; (c = chat_cases_next(&cases)) != NULL;) {
            if (n++ >= N_MUTATIONS)
                continue;
            struct glint_tool_set tools;
            struct glint_stream_options options = case_options(c, &tools);
            struct stream_output output = case_output(c);
            bool literal = has_marker(&output.text);
            uint32_t how = token_fixture_random(&random, 4); // tools twice, none allowed, none
            options.no_calls = how == 0;
            options.tools = how == 1 ? NULL : options.tools;
            mutate(&output, &random);
            bool limit = token_fixture_random(&random, 2) == 0;
            struct glint_message whole = {.calls = NULL};
            struct glint_message bytes = {.calls = NULL};
            stream_output_run(&output, &options, limit, STREAM_CUT_WHOLE, &random, &whole);
            stream_output_run(&output, &options, limit, STREAM_CUT_BYTES, &random, &bytes);
            if (!stream_messages_equal(&whole, &bytes))
                fail_cut(c, n, &whole, &bytes);
            assert_true(literal || !has_marker(&whole.content));
            assert_true(literal || !has_marker(&whole.reasoning));
            glint_message_fini(&whole);
            glint_message_fini(&bytes);
            stream_output_fini(&output);
            glint_tool_set_fini(&tools);
        }
    }
}

struct stop_case {
    const char *stops[3];
    const char *answer, *content;
};

static void stop_strings(void **state) {
    (void)state;
    static const struct stop_case cases[] = {
        {{"END"}, "one END two", "one "}, {{"END"}, "EEND", "E"},
        {{"aab"}, "aaaab", "aa"},         {{"xyz", "y"}, "a xy b", "a x"},
        {{"xyz", "yz"}, "a xyz b", "a "}, {{"\n\n"}, "a\nb\n\nc", "a\nb"},
        {{"</x>", "<"}, "1 < 2", "1 "},   {{"ü"}, "grün", "gr"},
        {{"never"}, "nev", "nev"},        {{"to=user"}, "send to=user now", "send "},
    };
    uint64_t random = 3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glint_view stops[3];
        size_t n = 0;
        while (n < 3 && cases[i].stops[n]) {
            stops[n] = glint_view_of(cases[i].stops[n]);
            n++;
        }
        struct glint_stream_options options = {.stops = stops, .n_stops = n};
        struct stream_output output = {.pieces = NULL};
        struct glint_view none = {.data = "", .n = 0};
        stream_output_add(&output, GLINT_INPUT_TEXT, glint_view_of(" to=self"));
        stream_output_add(&output, GLINT_INPUT_MESSAGE, none);
        // Reasoning is not searched for stop strings.
        stream_output_add(&output, GLINT_INPUT_TEXT, glint_view_of(cases[i].answer));
        stream_output_add(&output, GLINT_INPUT_EOM, none);
        stream_output_add(&output, GLINT_INPUT_START, none);
        stream_output_add(&output, GLINT_INPUT_TEXT, glint_view_of("assistant to=user"));
        stream_output_add(&output, GLINT_INPUT_MESSAGE, none);
        stream_output_add(&output, GLINT_INPUT_TEXT, glint_view_of(cases[i].answer));
        stream_output_add(&output, GLINT_INPUT_END, none);
        for (int cut = STREAM_CUT_WHOLE; cut <= STREAM_CUT_RANDOM; cut++) {
            struct glint_message message = {.calls = NULL};
            stream_output_run(&output, &options, false, (enum stream_cut)cut, &random, &message);
            assert_string_equal(message.content.data, cases[i].content);
            assert_string_equal(message.reasoning.data, cases[i].answer);
            assert_int_equal(message.reason, GLINT_FINISH_STOP);
            glint_message_fini(&message);
        }
        stream_output_fini(&output);
    }
}

static void reasoning_budget(void **state) {
    (void)state;
    struct glint_message message = {.calls = NULL};
    struct glint_stream_options options = {
        .has_budget = true, .budget = 3, .on_event = glint_message_on_event, .context = &message};
    struct glint_stream *stream = NULL;
    int32_t closing[8];
    size_t n_closing = glint_stream_closing_ids(vocab, closing, 8);
    assert_int_equal(n_closing, 3);
    assert_int_equal(closing[0], 200007);
    assert_int_equal(closing[1], 200022);
    assert_int_equal(closing[2], 140680);
    assert_int_equal(glint_stream_open(&stream, &options, NULL), GLINT_OK);
    static const int32_t header[] = {328, 19669, 200023}; // " to", "=self", message
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(glint_stream_put_id(stream, vocab, header[i]), GLINT_OK);
    int n = 0;
    while (!glint_stream_must_close_reasoning(stream)) {
        assert_false(glint_stream_reasoning_is_closed(stream));
        assert_int_equal(glint_stream_put_id(stream, vocab, 15651), GLINT_OK); // "system"
        n++;
    }
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n_closing; i++)
        assert_int_equal(glint_stream_put_id(stream, vocab, closing[i]), GLINT_OK);
    assert_false(glint_stream_must_close_reasoning(stream));
    assert_true(glint_stream_reasoning_is_closed(stream));
    static const int32_t rest[] = {328, 76976, 200023, 1556, 200008}; // to=user: "user", eot
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(glint_stream_put_id(stream, vocab, rest[i]), GLINT_OK);
    assert_true(glint_stream_is_done(stream));
    assert_string_equal(message.reasoning.data, "systemsystemsystem");
    assert_string_equal(message.content.data, "user");
    assert_int_equal(glint_stream_counts(stream).reasoning_ids, 3);
    glint_stream_close(&stream);
    glint_message_fini(&message);
}

// With one_call the turn ends when the body of the first call closes.
static void one_call(void **state) {
    (void)state;
    static const char markup[] = "<atem:invoke name=\"f\"></atem:invoke>";
    struct glint_view none = {.data = "", .n = 0};
    struct glint_json_doc *doc = NULL;
    struct glint_tool_set tools;
    uint64_t random = 5;
    assert_int_equal(glint_json_parse(&doc, glint_view_of("[{\"name\": \"f\"}]"), NULL, NULL),
                     GLINT_OK);
    assert_int_equal(glint_tool_set_init(&tools, glint_json_root(doc), NULL), GLINT_OK);
    struct glint_stream_options options = {.tools = &tools, .one_call = true};
    struct stream_output output = {.pieces = NULL};
    for (int i = 0; i < 2; i++) {
        stream_output_add(&output, GLINT_INPUT_TEXT,
                          glint_view_of(i == 0 ? " to=f" : "assistant to=f"));
        stream_output_add(&output, GLINT_INPUT_MESSAGE, none);
        stream_output_add(&output, GLINT_INPUT_TEXT, glint_view_of(markup));
        stream_output_add(&output, GLINT_INPUT_EOM, none);
        stream_output_add(&output, GLINT_INPUT_START, none);
    }
    struct glint_message message = {.calls = NULL};
    stream_output_run(&output, &options, true, STREAM_CUT_BYTES, &random, &message);
    assert_int_equal(message.n_calls, 1);
    assert_int_equal(message.reason, GLINT_FINISH_TOOL_CALLS);
    glint_message_fini(&message);
    stream_output_fini(&output);
    glint_tool_set_fini(&tools);
    glint_json_close(&doc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_cases),      cmocka_unit_test(parse_cases_by_id),
        cmocka_unit_test(mutated_outputs),  cmocka_unit_test(stop_strings),
        cmocka_unit_test(reasoning_budget), cmocka_unit_test(one_call),
    };
    return cmocka_run_group_tests(tests, open_vocab, close_vocab);
}
