// SPDX-License-Identifier: Apache-2.0
// work.c — tokens to notes: the turn's events, log-probabilities of what was shown, the counts.
#include "server/work.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "format/json_write.h"
#include "server/call_memory.h"

#include <math.h>
#include <string.h>

static void put_text(struct glint_work *work, enum glint_note_kind kind,
                     const struct glint_turn_event *event) {
    struct glint_note note = {.kind = kind,
                              .choice = work->choice,
                              .index = event->index,
                              .text = event->text,
                              .n = event->n};
    glint_outbox_put(work->outbox, &note);
}

// Says that a call begins, and writes it down.
static void put_call(struct glint_work *work, const struct glint_turn_event *event) {
    struct glint_note note = {.kind = GLINT_NOTE_CALL,
                              .choice = work->choice,
                              .index = event->index,
                              .text = event->text,
                              .n = event->n};
    char id[GLINT_RANDOM_ID_BYTES];
    glint_random_id(id, "");
    memcpy(note.call_id, id, sizeof note.call_id);
    glint_outbox_put(work->outbox, &note);
    glint_buffer_append_text(&work->calls, work->calls.n == 0 ? "[{\"id\":\"" : "},{\"id\":\"");
    glint_buffer_append_text(&work->calls, id);
    glint_buffer_append_text(&work->calls, "\",\"name\":");
    glint_json_put_string(&work->calls, (struct glint_view){event->text, event->n});
    glint_buffer_append_text(&work->calls, ",\"arguments\":");
}

// Tokens that came out as content are reported before it; others are not.
static void settle_tokens(struct glint_work *work, bool shown) {
    struct glint_note note;
    size_t at = 0;
    while (shown && glint_outbox_next(&work->unsure, &at, &note))
        glint_outbox_put(work->outbox, &note);
    glint_buffer_clear(&work->unsure);
    work->n_unsure = 0;
}

static void on_event(void *user, const struct glint_turn_event *event) {
    struct glint_work *work = user;
    switch (event->kind) {
    case GLINT_TURN_REASONING:
        work->usage.n_reasoning += work->n_unsure;
        settle_tokens(work, false);
        put_text(work, GLINT_NOTE_REASONING, event);
        break;
    case GLINT_TURN_CONTENT:
        settle_tokens(work, true);
        put_text(work, GLINT_NOTE_CONTENT, event);
        if (work->turn && work->memory)
            glint_buffer_append(&work->said, event->text, event->n);
        break;
    case GLINT_TURN_CALL:
        settle_tokens(work, false);
        put_call(work, event);
        break;
    case GLINT_TURN_ARGUMENTS:
        settle_tokens(work, false);
        put_text(work, GLINT_NOTE_ARGUMENTS, event);
        glint_buffer_append(&work->calls, event->text, event->n);
        break;
    case GLINT_TURN_FINISH:
        work->reason = event->reason;
        glint_buffer_append(&work->stop, event->text, event->n);
        break;
    case GLINT_TURN_REMAINS:
        break;
    }
}

enum glint_status glint_work_open(struct glint_work **out, const struct glint_engine *engine,
                                  const struct glint_turn_options *options,
                                  struct glint_error *err) {
    struct glint_work *work = glint_alloc(1, sizeof *work);
    *out = NULL;
    if (!work)
        return glint_fail(err, GLINT_E_NOMEM, "request: no memory");
    work->engine = engine;
    work->n_predict = -1;
    work->sampling = glint_sampler_defaults();
    enum glint_status status;
    if (options) {
        struct glint_turn_options inner = *options;
        inner.on_event = on_event;
        inner.user = work;
        status = glint_turn_open(&work->turn, engine, &inner, err);
    } else {
        status = glint_detokenizer_open(&work->detokenizer, engine, err);
    }
    if (status != GLINT_OK)
        glint_work_close(&work);
    *out = work;
    return status;
}

void glint_work_close(struct glint_work **work_in) {
    struct glint_work *work = *work_in;
    *work_in = NULL;
    if (!work)
        return;
    glint_turn_close(&work->turn);
    glint_constraint_close(&work->constraint);
    glint_viewing_release(&work->viewing);
    glint_detokenizer_close(&work->detokenizer);
    glint_buffer_fini(&work->bias);
    glint_buffer_fini(&work->unsure);
    glint_buffer_fini(&work->calls);
    glint_buffer_fini(&work->said);
    glint_buffer_fini(&work->stop);
    glint_free(work->ids);
    if (work->outbox)
        glint_outbox_finish(work->outbox);
    glint_free(work);
}

void glint_work_set_viewing(struct glint_work *work, struct glint_viewing *viewing) {
    if (!viewing)
        return;
    glint_viewing_retain(viewing);
    work->viewing = viewing;
    work->usage.n_image = glint_viewing_tokens(viewing);
}

static enum glint_status reserve(struct glint_work *work, size_t n, struct glint_error *err) {
    size_t need = (size_t)work->n_ids + n;
    if (need <= (size_t)work->n_capacity)
        return GLINT_OK;
    size_t capacity = need + need / 2 + 256;
    int32_t *ids = capacity < INT32_MAX ? glint_realloc(work->ids, capacity, sizeof *ids) : NULL;
    if (!ids)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for %zu tokens", capacity);
    work->ids = ids;
    work->n_capacity = (int)capacity;
    return GLINT_OK;
}

enum glint_status glint_work_set_sampling(struct glint_work *work,
                                          const struct glint_sampler_options *options,
                                          uint64_t seed_step, struct glint_error *err) {
    glint_buffer_append(&work->bias, options->bias, options->n_bias * sizeof *options->bias);
    if (work->bias.failed)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for the request");
    work->sampling = *options;
    work->sampling.seed += seed_step;
    work->sampling.bias = (const struct glint_logit_bias *)(const void *)work->bias.data;
    return GLINT_OK;
}

enum glint_status glint_work_put_prompt(struct glint_work *work, const struct glint_ids *prompt,
                                        struct glint_error *err) {
    GLINT_TRY(reserve(work, prompt->n, err));
    if (prompt->n != 0)
        memcpy(work->ids + work->n_ids, prompt->data, prompt->n * sizeof *prompt->data);
    work->n_ids += (int)prompt->n;
    work->usage.n_prompt = work->n_ids;
    return GLINT_OK;
}

static void keep_note(struct glint_work *work, enum glint_note_kind kind, int32_t id,
                      float logprob) {
    struct glint_note note = {.kind = kind, .choice = work->choice, .logprob = logprob, .id = id};
    note.text = glint_token_bytes(work->engine, id, &note.n);
    note.no_logprob = isnan(logprob);
    note.special = glint_is_special(work->engine, id);
    glint_note_append(&work->unsure, &note);
}

// Notes of one token, kept until it is known whether the client sees its text.
static void note_token(struct glint_work *work, const struct glint_sample *sample) {
    work->n_unsure++;
    if (!work->sampling.logprobs)
        return;
    keep_note(work, GLINT_NOTE_TOKEN, sample->id, sample->logprob);
    for (int i = 0; i < sample->n_top; i++)
        keep_note(work, GLINT_NOTE_TOP, sample->top[i].id, sample->top[i].logprob);
}

static enum glint_status take_raw(struct glint_work *work, int32_t id, struct glint_error *err) {
    struct glint_turn_event event = {.kind = GLINT_TURN_CONTENT};
    event.text = glint_detokenizer_push(work->detokenizer, id, &event.n);
    if (!event.text)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for text");
    if (event.n != 0)
        on_event(work, &event);
    return GLINT_OK;
}

// The k best of a row, best first, by insertion: k is small.
static int find_top(const float *logits, int n_vocab, int k, struct glint_logprob *top) {
    int n = 0;
    for (int id = 0; id < n_vocab; id++) {
        if (n == k && (k == 0 || logits[id] <= top[n - 1].logprob))
            continue;
        int at = n < k ? n++ : n - 1;
        for (; at > 0 && top[at - 1].logprob < logits[id]; at--)
            top[at] = top[at - 1];
        top[at] = (struct glint_logprob){id, logits[id]};
    }
    return n;
}

// Says token i of the prompt; logits [n_vocab] are those before it, NULL when there are none.
static enum glint_status echo(struct glint_work *work, int i, const float *logits,
                              struct glint_error *err) {
    struct glint_logprob top[20];
    struct glint_sample sample = {.id = work->ids[i], .logprob = NAN, .top = top};
    if (logits) {
        int n_vocab = glint_engine_info(work->engine).n_vocab;
        int k = work->sampling.n_logprobs < 20 ? work->sampling.n_logprobs : 20;
        float best = logits[0];
        double sum = 0;
        for (int id = 1; id < n_vocab; id++)
            best = logits[id] > best ? logits[id] : best;
        for (int id = 0; id < n_vocab; id++)
            sum += exp((double)(logits[id] - best));
        double log_sum = (double)best + log(sum);
        sample.logprob = (float)((double)logits[sample.id] - log_sum);
        sample.n_top = find_top(logits, n_vocab, k, top);
        for (int j = 0; j < sample.n_top; j++)
            top[j].logprob = (float)((double)top[j].logprob - log_sum);
    }
    note_token(work, &sample);
    return take_raw(work, sample.id, err);
}

bool glint_work_is_scored(const struct glint_work *work) {
    return work->echo && work->sampling.logprobs;
}

enum glint_status glint_work_begin_echo(struct glint_work *work, struct glint_error *err) {
    int n = glint_work_is_scored(work) ? 1 : work->usage.n_prompt;
    while (work->echo && work->n_echoed < n)
        GLINT_TRY(echo(work, work->n_echoed++, NULL, err));
    return GLINT_OK;
}

void glint_work_on_logits(void *user, int position, const float *logits) {
    struct glint_work *work = user;
    // A prompt that is evaluated again is not said again.
    if (position + 1 == work->n_echoed && work->n_echoed < work->usage.n_prompt &&
        echo(work, work->n_echoed++, logits, NULL) != GLINT_OK)
        work->echo_failed = true;
}

void glint_work_on_hidden(void *user, int k, int position, const float *row) {
    struct glint_work *work = user;
    struct glint_engine_info info = glint_engine_info(work->engine);
    if (k != info.n_layer || position + 1 != work->usage.n_prompt)
        return;
    struct glint_note note = {.kind = GLINT_NOTE_HIDDEN,
                              .choice = work->choice,
                              .text = (const char *)(const void *)row,
                              .n = (size_t)info.width * sizeof *row};
    glint_outbox_put(work->outbox, &note);
}

enum glint_status glint_work_take(struct glint_work *work, const struct glint_sample *sample,
                                  struct glint_error *err) {
    bool stop = glint_is_stop(work->engine, sample->id);
    bool special = glint_is_special(work->engine, sample->id);
    GLINT_TRY(reserve(work, 1, err));
    work->ids[work->n_ids++] = sample->id;
    if (work->usage.n_generated++ == 0) {
        work->first_ms = glint_clock_ms();
        work->usage.prefill_ms = work->first_ms - work->started_ms;
    }
    if (work->turn ? !special : !stop) // raw text has control tokens in its list
        note_token(work, sample);
    if (work->turn) {
        GLINT_TRY(glint_turn_put_id(work->turn, sample->id, err));
        stop = stop || glint_turn_is_done(work->turn) ||
               (work->constraint && glint_constraint_is_done(work->constraint));
    } else if (!stop) {
        GLINT_TRY(take_raw(work, sample->id, err));
        stop = glint_detokenizer_is_done(work->detokenizer);
    }
    if (special && work->turn)
        settle_tokens(work, false);
    work->done = stop && !work->ignore_eos;
    return GLINT_OK;
}

// A turn that called tools and that the model has ended is remembered as the ids it was sampled
// with. Ids of media stand for rows elsewhere, so a turn with such an id cannot be put into a
// prompt.
static void remember_calls(struct glint_work *work) {
    int32_t patch = glint_special_id(work->engine, "<|patch|>");
    int32_t video = glint_special_id(work->engine, "<|video|>");
    bool whole = work->memory && work->calls.n != 0 && work->n_ids > work->usage.n_prompt &&
                 work->ids[work->n_ids - 1] == glint_special_id(work->engine, "<|eot|>");
    for (int i = work->usage.n_prompt; whole && i < work->n_ids; i++)
        whole = work->ids[i] != patch && work->ids[i] != video;
    if (!whole)
        return;
    glint_buffer_append_text(&work->calls, "}]");
    if (work->calls.failed || work->said.failed)
        return;
    struct glint_view calls = {work->calls.data, work->calls.n};
    struct glint_view said = {work->said.data, work->said.n};
    glint_call_memory_put(work->memory, work->tenant, calls, said, work->ids + work->usage.n_prompt,
                          (size_t)(work->n_ids - work->usage.n_prompt));
}

enum glint_status glint_work_finish(struct glint_work *work, bool limit, struct glint_error *err) {
    if (work->turn) {
        GLINT_TRY(glint_turn_end(work->turn, limit, err));
    } else {
        struct glint_turn_event rest = {.kind = GLINT_TURN_CONTENT};
        rest.text = glint_detokenizer_flush(work->detokenizer, &rest.n);
        if (!rest.text)
            return glint_fail(err, GLINT_E_NOMEM, "no memory for text");
        if (rest.n != 0)
            on_event(work, &rest);
        settle_tokens(work, true);
        glint_buffer_append_text(&work->stop, glint_detokenizer_stop(work->detokenizer));
    }
    remember_calls(work);
    if (limit)
        work->reason = GLINT_FINISH_LENGTH; // also when a stop token before it was ignored
    double now = glint_clock_ms();
    if (work->usage.n_generated == 0)
        work->usage.prefill_ms = now - work->started_ms;
    else
        work->usage.decode_ms = now - work->first_ms;
    struct glint_note note = {.kind = GLINT_NOTE_FINISH,
                              .choice = work->choice,
                              .reason = work->reason,
                              .text = work->stop.n ? work->stop.data : "",
                              .n = work->stop.n,
                              .usage = work->usage};
    glint_outbox_put(work->outbox, &note);
    work->phase = GLINT_WORK_OVER;
    return GLINT_OK;
}

void glint_work_fail(struct glint_work *work, const struct glint_error *error) {
    struct glint_note note = {.kind = GLINT_NOTE_FAIL,
                              .choice = work->choice,
                              .status = error->status,
                              .text = error->text,
                              .n = strlen(error->text)};
    glint_outbox_put(work->outbox, &note);
    work->phase = GLINT_WORK_OVER;
}
