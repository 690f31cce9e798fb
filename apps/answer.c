// SPDX-License-Identifier: Apache-2.0
// answer.c — the loop of draw, show, evaluate, under what the request demands of the turn.
#include "answer.h"

#include "interrupt.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct generation {
    struct glint_answer *answer;
    struct glint_engine *engine;
    struct glint_session *session;
    const struct glint_answer_options *options;
    struct glint_turn *turn;               // NULL when raw
    struct glint_detokenizer *detokenizer; // NULL unless raw
    struct glint_constraint *constraint;   // NULL when everything may come
    struct glint_error *err;
    bool done;
};

static enum glint_status fail(struct generation *g, enum glint_status status, const char *text) {
    *g->err = (struct glint_error){.status = status};
    snprintf(g->err->text, sizeof g->err->text, "%s", text);
    return status;
}

static bool keep_id(struct glint_answer *answer, int32_t id, float logprob) {
    if (answer->n == answer->n_capacity) {
        int capacity = answer->n_capacity ? 2 * answer->n_capacity : 256;
        int32_t *ids = realloc(answer->ids, (size_t)capacity * sizeof *ids);
        if (ids)
            answer->ids = ids;
        struct glint_logprob *logprobs =
            realloc(answer->logprobs, (size_t)capacity * sizeof *logprobs);
        if (logprobs)
            answer->logprobs = logprobs;
        if (!ids || !logprobs)
            return false;
        answer->n_capacity = capacity;
    }
    answer->ids[answer->n] = id;
    answer->logprobs[answer->n++] = (struct glint_logprob){id, logprob};
    return true;
}

static void show_raw(struct generation *g, const char *text, size_t n) {
    struct glint_turn_event event = {.kind = GLINT_TURN_CONTENT, .text = text, .n = n};
    if (n != 0 && g->options->turn.on_event)
        g->options->turn.on_event(g->options->turn.user, &event);
}

// Keeps and shows one id; g->done when the answer is complete.
static enum glint_status take(struct generation *g, int32_t id, float logprob) {
    bool stop = glint_is_stop(g->engine, id);
    if (!keep_id(g->answer, id, logprob))
        return fail(g, GLINT_E_NOMEM, "out of memory");
    if (g->options->on_id)
        g->options->on_id(g->options->turn.user, id);
    if (g->turn) {
        enum glint_status status = glint_turn_put_id(g->turn, id, g->err);
        if (status != GLINT_OK)
            return status;
        stop = stop || glint_turn_is_done(g->turn);
    } else if (!stop) {
        size_t n;
        const char *text = glint_detokenizer_push(g->detokenizer, id, &n);
        if (!text)
            return fail(g, GLINT_E_NOMEM, "out of memory");
        show_raw(g, text, n);
    }
    g->done = (stop && !g->options->ignore_eos) ||
              (g->constraint && glint_constraint_is_done(g->constraint));
    return GLINT_OK;
}

static bool is_full(const struct generation *g) {
    return g->answer->n == g->options->n_predict ||
           glint_session_length(g->session) == glint_engine_info(g->engine).n_context;
}

static enum glint_status evaluate(struct generation *g, int32_t id) {
    return glint_engine_decode(g->engine, &g->session, &id, 1, g->err);
}

// Whether the ids can stand for the turn: ended by the model, and no placeholder of media in them.
static bool is_whole(const struct generation *g) {
    const struct glint_answer *answer = g->answer;
    int32_t patch = glint_special_id(g->engine, "<|patch|>");
    int32_t video = glint_special_id(g->engine, "<|video|>");
    for (int i = 0; i < answer->n; i++)
        if (answer->ids[i] == patch || answer->ids[i] == video)
            return false;
    return answer->ids[answer->n - 1] == glint_special_id(g->engine, "<|eot|>");
}

// Draws and evaluates until a stop, a limit or Ctrl-C.
static enum glint_status generate(struct generation *g) {
    struct glint_answer *answer = g->answer;
    enum glint_status status = GLINT_OK;
    bool interrupted = false;
    while (status == GLINT_OK && !g->done && !is_full(g) && !interrupted) {
        struct glint_sample sample;
        status = glint_session_sample(g->session, &sample, g->err);
        if (status == GLINT_OK)
            status = take(g, sample.id, sample.logprob);
        interrupted = glint_interrupt_seen();
        if (status == GLINT_OK && !g->done && !is_full(g) && !interrupted)
            status = evaluate(g, sample.id);
    }
    answer->finish = interrupted && !g->done ? "interrupt" : g->done ? "stop" : "length";
    answer->whole = g->done && is_whole(g);
    return status;
}

static enum glint_status finish(struct generation *g) {
    if (!g->turn) {
        size_t n;
        const char *rest = glint_detokenizer_flush(g->detokenizer, &n);
        if (!rest)
            return fail(g, GLINT_E_NOMEM, "out of memory");
        show_raw(g, rest, n);
        return GLINT_OK;
    }
    return glint_turn_end(g->turn, !g->done, g->err);
}

struct finish_note { // sees the events on their way, for the reason
    const struct glint_turn_options *to;
    const char *finish;
};

static void pass_event(void *user, const struct glint_turn_event *event) {
    struct finish_note *note = user;
    if (event->kind == GLINT_TURN_FINISH)
        note->finish = glint_turn_reason_name(event->reason);
    if (note->to->on_event)
        note->to->on_event(note->to->user, event);
}

// A turn in the model's dialect and nothing else (no placeholder of media, no stray marker), calls
// that fit their tools, an answer that fits its schema, reasoning within its budget: drawn that
// way, not checked afterwards.
static enum glint_status constrain(struct generation *g) {
    const struct glint_answer_options *options = g->options;
    bool of_answer = options->schema.data || options->json_object;
    bool of_turn = options->turn.tools.data || options->turn.has_budget || options->tool_choice ||
                   !options->ignore_eos;
    const char *choice = options->tool_choice;
    struct glint_constraint_options constraint = {
        .schema = options->schema, .json_object = options->json_object, .start = GLINT_TURN_USER};
    if (!of_answer && (options->raw || !of_turn))
        return GLINT_OK;
    if (!options->raw) {
        constraint.tools = options->turn.tools;
        constraint.tool_choice = choice;
        constraint.loose_tools = !choice || strcmp(choice, "auto") == 0;
        constraint.one_call = options->turn.one_call;
        constraint.has_budget = options->turn.has_budget;
        constraint.budget = options->turn.budget;
        constraint.start = options->turn.start;
        constraint.start_tool = options->turn.start_tool;
        if (of_answer && constraint.start == GLINT_TURN_USER)
            return fail(g, GLINT_E_ARG, "an answer that is continued cannot be held to a schema");
    }
    enum glint_status status =
        glint_constraint_open(&g->constraint, g->engine, &constraint, g->err);
    if (status == GLINT_OK)
        glint_session_set_constraint(g->session, g->constraint);
    return status;
}

enum glint_status glint_answer_generate(struct glint_answer *answer, struct glint_engine *engine,
                                        struct glint_session *session,
                                        const struct glint_ids *prompt,
                                        const struct glint_answer_options *options,
                                        struct glint_error *err) {
    struct generation g = {answer, engine, session, options, .err = err};
    struct finish_note note = {.to = &options->turn};
    struct glint_turn_options turn = options->turn;
    turn.on_event = pass_event;
    turn.user = &note;
    struct glint_draft_stats before = glint_session_draft_stats(session);
    glint_session_expect(session, options->n_predict < 0 ? -1 : (int)options->n_predict);
    turn.no_calls =
        turn.no_calls || (options->tool_choice && strcmp(options->tool_choice, "none") == 0);
    double start = glint_now_ms();
    enum glint_status status = options->raw ? glint_detokenizer_open(&g.detokenizer, engine, err)
                                            : glint_turn_open(&g.turn, engine, &turn, err);
    if (status == GLINT_OK)
        status = constrain(&g);
    if (status == GLINT_OK)
        status = glint_session_sync(session, prompt->data, (int)prompt->n, &answer->n_reused, err);
    double begun = glint_now_ms();
    answer->prefill_ms = begun - start;
    if (status == GLINT_OK)
        status = generate(&g);
    if (status == GLINT_OK)
        status = finish(&g);
    if (note.finish && strcmp(answer->finish, "interrupt") != 0)
        answer->finish = note.finish;
    answer->decode_ms = glint_now_ms() - begun;
    struct glint_draft_stats after = glint_session_draft_stats(session);
    answer->draft = (struct glint_draft_stats){after.n_round - before.n_round,
                                               after.n_proposed - before.n_proposed,
                                               after.n_accepted - before.n_accepted};
    glint_session_set_constraint(session, NULL);
    glint_constraint_close(&g.constraint);
    glint_turn_close(&g.turn);
    glint_detokenizer_close(&g.detokenizer);
    return status;
}

void glint_answer_print_draft(const struct glint_answer *answer, char *out, size_t n) {
    out[0] = 0;
    if (answer->draft.n_round > 0)
        snprintf(out, n, "%lld of %lld drafted right in %lld rounds",
                 (long long)answer->draft.n_accepted, (long long)answer->draft.n_proposed,
                 (long long)answer->draft.n_round);
}

void glint_answer_fini(struct glint_answer *answer) {
    free(answer->ids);
    free(answer->logprobs);
    *answer = (struct glint_answer){.n = 0};
}
