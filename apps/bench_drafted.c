// SPDX-License-Identifier: Apache-2.0
// bench_drafted.c — see bench_drafted.h.
#include "bench_drafted.h"

#include "interrupt.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const questions[] = {
    "Write a short story about a lighthouse keeper who finds a letter.",
    "Explain step by step how bread is baked, and why each step matters.",
    "Write a function that sorts a list of numbers, and say how it works.",
    "Compare travelling by train with travelling by car, in a few sentences.",
};
enum { N_QUESTION = sizeof questions / sizeof *questions };

static enum glint_status ask(const struct glint_chat *chat, const struct glint_engine *engine,
                             const char *question, struct glint_ids *ids,
                             struct glint_error *error) {
    char messages[256];
    int n =
        snprintf(messages, sizeof messages, "[{\"role\":\"user\",\"content\":\"%s\"}]", question);
    struct glint_chat_request request = {.messages = {messages, (size_t)n}, .normalise = true};
    struct glint_chat_prompt prompt;
    enum glint_status status = glint_chat_prompt(chat, &request, &prompt, error);
    if (status == GLINT_OK)
        status = glint_chat_prompt_ids(engine, &prompt, ids, error);
    glint_chat_prompt_free(&prompt);
    if (status == GLINT_OK && ids->n > GLINT_BENCH_QUESTION) {
        snprintf(error->text, sizeof error->text,
                 "a question of the bench: found %zu tokens, expected at most %d", ids->n,
                 GLINT_BENCH_QUESTION);
        return GLINT_E_LIMIT;
    }
    return status;
}

// What a stream holds before it answers: its question over and over, `depth` tokens, and once more.
struct prompt {
    int32_t *ids;
    int n;
};

static enum glint_status open_prompts(const struct glint_bench_drafted *test,
                                      struct prompt prompts[N_QUESTION],
                                      struct glint_error *error) {
    struct glint_chat *chat = NULL;
    const struct glint_engine *engine = test->plain.engine;
    enum glint_status status = glint_chat_open(&chat, engine, error);
    for (int q = 0; q < N_QUESTION && status == GLINT_OK; q++) {
        struct glint_ids ids = {0};
        status = ask(chat, engine, questions[q], &ids, error);
        int n = (int)ids.n;
        prompts[q].n = test->depth + n;
        prompts[q].ids = malloc((size_t)prompts[q].n * sizeof(int32_t));
        if (!prompts[q].ids && status == GLINT_OK)
            status = GLINT_E_NOMEM;
        for (int i = 0; i < prompts[q].n && status == GLINT_OK; i++)
            prompts[q].ids[i] = ids.data[(i + n - test->depth % n) % n];
        glint_ids_free(&ids);
    }
    glint_chat_close(&chat);
    return status;
}

struct answers {
    double ms;
    int n;         // tokens of all streams
    uint64_t hash; // of these, whatever the order of streams
};

// Draws the stream's tokens until it needs a step, which is to evaluate *id. *left: tokens that may
// still come, 0: the answer is done.
static enum glint_status draw(const struct glint_bench_side *side, int s, int *left, int32_t *id,
                              struct answers *answers, struct glint_error *error) {
    struct glint_session *session = side->sessions[s];
    do {
        struct glint_sample sample;
        enum glint_status status = glint_session_sample(session, &sample, error);
        if (status != GLINT_OK)
            return status;
        *id = sample.id;
        uint64_t place = (uint64_t)s << 32 | (uint32_t)*left;
        answers->hash += (place * 0x9e3779b97f4a7c15u) ^ ((uint32_t)*id * 0xff51afd7ed558ccdu);
        answers->n++;
        *left = glint_is_stop(side->engine, *id) ? 0 : *left - 1;
    } while (*left > 0 && glint_session_take(session, *id));
    return GLINT_OK;
}

static enum glint_status begin(const struct glint_bench_drafted *test,
                               const struct glint_bench_side *side, const struct prompt *prompts,
                               struct glint_error *error) {
    struct glint_sampler_options greedy = {.top_p = 1, .repeat_penalty = 1};
    enum glint_status status = GLINT_OK;
    for (int s = 0; s < test->n_streams && status == GLINT_OK; s++) {
        struct glint_session *session = side->sessions[s];
        const struct prompt *prompt = &prompts[s % N_QUESTION];
        status = glint_session_sync(session, prompt->ids, prompt->n, NULL, error);
        if (status == GLINT_OK)
            status = glint_session_set_sampler(session, &greedy, error);
        glint_session_expect(session, test->n);
    }
    return status;
}

static enum glint_status answer(const struct glint_bench_drafted *test,
                                const struct glint_bench_side *side, const struct prompt *prompts,
                                struct answers *answers, struct glint_error *error) {
    int left[GLINT_BENCH_STREAMS];
    *answers = (struct answers){.n = 0};
    enum glint_status status = begin(test, side, prompts, error);
    for (int s = 0; s < test->n_streams; s++)
        left[s] = test->n;
    double start = glint_now_ms();
    while (status == GLINT_OK) {
        struct glint_session *waiting[GLINT_BENCH_STREAMS];
        int32_t ids[GLINT_BENCH_STREAMS];
        int n = 0;
        for (int s = 0; s < test->n_streams && status == GLINT_OK; s++) {
            if (left[s] > 0)
                status = draw(side, s, &left[s], &ids[n], answers, error);
            if (left[s] > 0)
                waiting[n++] = side->sessions[s];
        }
        if (n == 0)
            break;
        if (status == GLINT_OK && glint_interrupt_seen()) {
            snprintf(error->text, sizeof error->text, "interrupted");
            status = GLINT_E_CANCELLED;
        }
        if (status == GLINT_OK)
            status = glint_engine_decode(side->engine, waiting, ids, n, error);
    }
    answers->ms = glint_now_ms() - start;
    return status;
}

static struct glint_draft_stats stats_of(const struct glint_bench_drafted *test) {
    struct glint_draft_stats sum = {0};
    for (int s = 0; s < test->n_streams; s++) {
        struct glint_draft_stats one = glint_session_draft_stats(test->drafted.sessions[s]);
        sum.n_round += one.n_round;
        sum.n_proposed += one.n_proposed;
        sum.n_accepted += one.n_accepted;
    }
    return sum;
}

static enum glint_status run(const struct glint_bench_drafted *test, const struct prompt *prompts,
                             struct glint_bench_drafted_result *result, struct glint_error *error) {
    struct glint_draft_stats before = {0};
    for (int r = -1; r < test->n_reps; r++) { // -1 warms up
        struct answers plain, drafted;
        if (r == 0)
            before = stats_of(test);
        enum glint_status status = answer(test, &test->plain, prompts, &plain, error);
        if (status == GLINT_OK)
            status = answer(test, &test->drafted, prompts, &drafted, error);
        if (status != GLINT_OK)
            return status;
        if (plain.n != drafted.n || plain.hash != drafted.hash) {
            snprintf(error->text, sizeof error->text,
                     "the answers with drafting and without are different texts");
            return GLINT_E_INTERNAL;
        }
        if (r >= 0) {
            result->plain[r] = plain.n * 1e3 / plain.ms;
            result->drafted[r] = drafted.n * 1e3 / drafted.ms;
        }
    }
    struct glint_draft_stats after = stats_of(test);
    result->stats = (struct glint_draft_stats){after.n_round - before.n_round,
                                               after.n_proposed - before.n_proposed,
                                               after.n_accepted - before.n_accepted};
    return GLINT_OK;
}

enum glint_status glint_bench_drafted(const struct glint_bench_drafted *test,
                                      struct glint_bench_drafted_result *result,
                                      struct glint_error *error) {
    struct prompt prompts[N_QUESTION] = {{.ids = NULL}};
    enum glint_status status = open_prompts(test, prompts, error);
    if (status == GLINT_OK)
        status = run(test, prompts, result, error);
    for (int q = 0; q < N_QUESTION; q++)
        free(prompts[q].ids);
    return status;
}
