// SPDX-License-Identifier: Apache-2.0
// bench_draft.c — what drafting gains: held-out prompts answered greedily by an engine without a
// drafter and by one with it, in turn (A B A B), so that a busy machine slows both. Three cases:
// chat turns and tool turns with the demo model's drafter, and a drafter of random weights, whose
// proposals are worth nothing.
//     bench_draft [REPS] [TOKENS]        run from the source tree
// Prints medians of the paired ratios, with the quartiles.
#include "base/clock.h"
#include "drafter_edit.h"
#include "held_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_PROMPT = 16, MAX_REPS = 50, WARM_UP = 2 };

struct side {
    struct glint_engine *engine;
    struct glint_session *session;
    double ms; // of the last answer
    int n;     // its tokens
    int32_t last;
};

static void must(enum glint_status status, const struct glint_error *error) {
    if (status == GLINT_OK)
        return;
    fprintf(stderr, "bench_draft: %s\n", error->text);
    exit(1);
}

static void open_side(struct side *side, const char *drafter) {
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_error error = {0};
    params.model_path = "models/glimmer-mini.gguf";
    params.draft_path = drafter;
    params.n_threads = 2;
    params.n_context = 4096;
    must(glint_engine_open(&side->engine, &params, &error), &error);
    must(glint_session_open(&side->session, side->engine, &error), &error);
}

static void close_side(struct side *side) {
    glint_session_close(&side->session);
    glint_engine_close(&side->engine);
}

// An answer of up to n tokens. go_on: stop tokens do not end it.
static void answer(struct side *side, const struct glint_ids *prompt, int n, bool go_on) {
    struct glint_error error = {0};
    struct glint_sampler_options greedy = {.top_p = 1, .repeat_penalty = 1};
    must(glint_session_sync(side->session, prompt->data, (int)prompt->n, NULL, &error), &error);
    must(glint_session_set_sampler(side->session, &greedy, &error), &error);
    glint_session_expect(side->session, n);
    double start = glint_clock_ms();
    for (side->n = 0; side->n < n;) {
        struct glint_sample sample;
        must(glint_session_sample(side->session, &sample, &error), &error);
        side->last = sample.id;
        side->n++;
        if (side->n == n || (!go_on && glint_is_stop(side->engine, sample.id)))
            break;
        must(glint_engine_decode(side->engine, &side->session, &sample.id, 1, &error), &error);
    }
    side->ms = glint_clock_ms() - start;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct case_of {
    const char *name, *drafter;
    bool tools, go_on;
};

static void run(const struct case_of *what, const struct held_out *prompts, int n_reps, int n_new) {
    static double ratio[N_PROMPT * MAX_REPS];
    struct side plain, drafted;
    double plain_ms = 0, drafted_ms = 0, tokens = 0;
    int n = 0;
    open_side(&plain, NULL);
    open_side(&drafted, what->drafter);
    for (int rep = -WARM_UP; rep < n_reps; rep++)
        for (int i = 0, used = 0; i < prompts->n && used < N_PROMPT; i++) {
            if (prompts->prompt[i].tools != what->tools)
                continue;
            used++;
            answer(&plain, &prompts->prompt[i].ids, n_new, what->go_on);
            answer(&drafted, &prompts->prompt[i].ids, n_new, what->go_on);
            if (plain.n != drafted.n || plain.last != drafted.last) {
                fprintf(stderr, "bench_draft: prompt %d: the answers differ\n", i);
                exit(1);
            }
            if (rep < 0 || plain.n < 4)
                continue;
            ratio[n++] = plain.ms / drafted.ms;
            plain_ms += plain.ms;
            drafted_ms += drafted.ms;
            tokens += plain.n;
        }
    struct glint_draft_stats stats = glint_session_draft_stats(drafted.session);
    qsort(ratio, (size_t)n, sizeof *ratio, compare_doubles);
    printf("%-16s %6.0f %9.1f %9.1f %7.2f %7.2f .. %.2f %8.2f %8.2f\n", what->name, tokens,
           tokens * 1e3 / plain_ms, tokens * 1e3 / drafted_ms, ratio[n / 2], ratio[n / 4],
           ratio[3 * n / 4], stats.n_round ? (double)stats.n_accepted / (double)stats.n_round : 0,
           stats.n_round ? (double)stats.n_proposed / (double)stats.n_round : 0);
    fflush(stdout);
    close_side(&plain);
    close_side(&drafted);
}

int main(int argc, char **argv) {
    int n_reps = argc > 1 ? atoi(argv[1]) : 5, n_new = argc > 2 ? atoi(argv[2]) : 128;
    char random[64];
    struct held_out prompts;
    struct side vocabulary;
    if (n_reps < 1 || n_reps > MAX_REPS || n_new < 8)
        return fprintf(stderr, "usage: bench_draft [REPS, at most %d] [TOKENS]\n", MAX_REPS), 2;
    snprintf(random, sizeof random, "/tmp/glint-random-drafter-%d.gguf", (int)getpid());
    drafter_edit_write(
        random, &(struct drafter_edit){.source = "models/glimmer-mini-draft.gguf", .random = true});
    open_side(&vocabulary, NULL);
    if (!held_out_open(&prompts, vocabulary.engine, "tests/data/held_out_prompts.tsv"))
        return 1;
    close_side(&vocabulary);
    const struct case_of cases[] = {
        {"chat turns", "models/glimmer-mini-draft.gguf", false, false},
        {"tool turns", "models/glimmer-mini-draft.gguf", true, false},
        {"random weights", random, false, true},
    };
    printf("%d prompts, %d repetitions, 2 threads\n", N_PROMPT, n_reps);
    printf("%-16s %6s %9s %9s %7s %15s %8s %8s\n", "case", "tokens", "plain t/s", "draft t/s",
           "ratio", "quartiles", "right", "of");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run(&cases[i], &prompts, n_reps, n_new);
    held_out_close(&prompts);
    remove(random);
    return 0;
}
