// SPDX-License-Identifier: Apache-2.0
// turn.c — the public face of stream/: generated ids to the events of a turn.
#include "engine/engine.h"

#include "base/alloc.h"
#include "stream/stream.h"

struct glint_turn {
    const struct glint_vocab *vocab;
    struct glint_json_doc *doc; // of the tools, which the set stands on
    struct glint_tool_set tools;
    struct glint_stream *stream;
};

static enum glint_status read_tools(struct glint_turn *turn, struct glint_json_text text,
                                    struct glint_error *err) {
    struct glint_json_options options = {.repair_surrogates = true, .name = "tools"};
    if (!text.data)
        return GLINT_OK;
    GLINT_TRY(glint_json_parse(&turn->doc, (struct glint_view){text.data, text.n}, &options, err));
    return glint_tool_set_init(&turn->tools, glint_json_root(turn->doc), err);
}

static enum glint_status open_stream(struct glint_turn *turn,
                                     const struct glint_turn_options *options,
                                     struct glint_error *err) {
    struct glint_stream_options inner = {
        .tools = &turn->tools,
        .no_calls = options->no_calls,
        .one_call = options->one_call,
        .start = options->start,
        .start_tool = glint_view_of(options->start_tool ? options->start_tool : ""),
        .n_stops = options->n_stops,
        .has_budget = options->has_budget,
        .budget = options->budget,
        .on_event = options->on_event,
        .context = options->user,
    };
    struct glint_view *stops = glint_alloc(options->n_stops, sizeof *stops);
    if (!stops)
        return glint_fail(err, GLINT_E_NOMEM, "turn: no memory");
    for (size_t i = 0; i < options->n_stops; i++)
        stops[i] = glint_view_of(options->stops[i]);
    inner.stops = stops;
    enum glint_status status = glint_stream_open(&turn->stream, &inner, err);
    glint_free(stops);
    return status;
}

enum glint_status glint_turn_open(struct glint_turn **turn, const struct glint_engine *engine,
                                  const struct glint_turn_options *options,
                                  struct glint_error *err) {
    *turn = NULL;
    GLINT_TRY(glint_vocab_require_dialect(engine->vocab, err));
    struct glint_turn *made = glint_alloc(1, sizeof *made);
    if (!made)
        return glint_fail(err, GLINT_E_NOMEM, "turn: no memory");
    made->vocab = engine->vocab;
    enum glint_status status = read_tools(made, options->tools, err);
    if (status == GLINT_OK)
        status = open_stream(made, options, err);
    if (status != GLINT_OK)
        glint_turn_close(&made);
    *turn = made;
    return status;
}

void glint_turn_close(struct glint_turn **turn) {
    struct glint_turn *old = *turn;
    *turn = NULL;
    if (!old)
        return;
    glint_stream_close(&old->stream);
    glint_tool_set_fini(&old->tools);
    glint_json_close(&old->doc);
    glint_free(old);
}

static enum glint_status report(enum glint_status status, struct glint_error *err) {
    return status == GLINT_OK ? status : glint_fail(err, status, "turn: no memory");
}

enum glint_status glint_turn_put_id(struct glint_turn *turn, int32_t id, struct glint_error *err) {
    return report(glint_stream_put_id(turn->stream, turn->vocab, id), err);
}

enum glint_status glint_turn_put_text(struct glint_turn *turn, const char *data, size_t n,
                                      struct glint_error *err) {
    struct glint_view text = {.data = data, .n = n};
    return report(glint_stream_put_marked(turn->stream, turn->vocab, text), err);
}

enum glint_status glint_turn_end(struct glint_turn *turn, bool limit, struct glint_error *err) {
    struct glint_view none = {.data = "", .n = 0};
    enum glint_stream_input input = limit ? GLINT_INPUT_LIMIT : GLINT_INPUT_END;
    return report(glint_stream_put(turn->stream, input, none), err);
}

bool glint_turn_is_done(const struct glint_turn *turn) {
    return glint_stream_is_done(turn->stream);
}

bool glint_turn_must_close_reasoning(const struct glint_turn *turn) {
    return glint_stream_must_close_reasoning(turn->stream);
}

size_t glint_turn_closing_ids(const struct glint_turn *turn, int32_t *ids, size_t n) {
    return glint_stream_closing_ids(turn->vocab, ids, n);
}
