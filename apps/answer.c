// SPDX-License-Identifier: Apache-2.0
// answer.c — the loop of draw, show, evaluate, and the end of reasoning at its budget.
#include "answer.h"

#include "interrupt.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLOSING = 32, MAX_HEADER = 64 };

struct generation {
    struct glint_answer *answer;
    struct glint_engine *engine;
    struct glint_session *session;
    const struct glint_answer_options *options;
    struct glint_turn *turn;               // NULL when raw
    struct glint_detokenizer *detokenizer; // NULL unless raw
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
    g->done = stop && !g->options->ignore_eos;
    return GLINT_OK;
}

static bool is_full(const struct generation *g) {
    return g->answer->n == g->options->n_predict ||
           glint_session_length(g->session) == glint_engine_info(g->engine).n_context;
}

static enum glint_status evaluate(struct generation *g, int32_t id) {
    return glint_engine_decode(g->engine, &g->session, &id, 1, g->err);
}

// Puts ids in as if they had been drawn.
static enum glint_status put_in(struct generation *g, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n && !is_full(g); i++) {
        enum glint_status status = take(g, ids[i], 0);
        if (status == GLINT_OK && !is_full(g))
            status = evaluate(g, ids[i]);
        if (status != GLINT_OK)
            return status;
    }
    return GLINT_OK;
}

// Draws the header that follows the closed reasoning, without showing it. *n is 0 when it would
// reason on, or is none.
static enum glint_status draw_header(struct generation *g, int32_t *ids, size_t *n) {
    char text[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < MAX_HEADER && !is_full(g); i++) {
        struct glint_sample sample;
        enum glint_status status = glint_session_sample(g->session, &sample, g->err);
        if (status != GLINT_OK)
            return status;
        ids[i] = sample.id;
        if (sample.id == glint_special_id(g->engine, "<|message|>")) {
            *n = strcmp(text, " to=self") == 0 ? 0 : i + 1;
            return GLINT_OK;
        }
        size_t n_bytes;
        const char *bytes = glint_token_bytes(g->engine, sample.id, &n_bytes);
        if (length + n_bytes >= sizeof text || strncmp(bytes, "<|", 2) == 0)
            break;
        memcpy(text + length, bytes, n_bytes);
        length += n_bytes;
        text[length] = 0;
        status = evaluate(g, sample.id);
        if (status != GLINT_OK)
            return status;
    }
    *n = 0;
    return GLINT_OK;
}

// Reasoning has used up its budget: ends it, and lets the model address anyone but itself.
static enum glint_status close_reasoning(struct generation *g) {
    int32_t closing[MAX_CLOSING], header[MAX_HEADER];
    size_t n_header = 0, n = glint_turn_closing_ids(g->turn, closing, MAX_CLOSING);
    enum glint_status status = put_in(g, closing, n < MAX_CLOSING ? n : MAX_CLOSING);
    int before = glint_session_length(g->session);
    if (status == GLINT_OK && g->options->turn.tools.data)
        status = draw_header(g, header, &n_header);
    if (status == GLINT_OK && glint_session_length(g->session) != before)
        status = glint_session_truncate(g->session, before, g->err);
    if (status == GLINT_OK && n_header != 0)
        return put_in(g, header, n_header);
    struct glint_text answer = {.data = " to=user<|message|>", .n = 19, .special = true};
    struct glint_ids ids = {0};
    if (status == GLINT_OK)
        status = glint_tokenize(g->engine, &answer, &ids, g->err);
    if (status == GLINT_OK)
        status = put_in(g, ids.data, ids.n);
    glint_ids_free(&ids);
    return status;
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
        if (status == GLINT_OK && g->turn && !g->done && glint_turn_must_close_reasoning(g->turn) &&
            !is_full(g) && !interrupted)
            status = close_reasoning(g);
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
    double start = glint_now_ms();
    enum glint_status status = options->raw ? glint_detokenizer_open(&g.detokenizer, engine, err)
                                            : glint_turn_open(&g.turn, engine, &turn, err);
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
