// SPDX-License-Identifier: Apache-2.0
// bench_drafted.h — what a drafter gains: answers to fixed questions, written greedily with
// drafting and without in turn, so that a busy machine slows both. How much it is depends on the
// text.
#ifndef GLINT_APPS_BENCH_DRAFTED_H
#define GLINT_APPS_BENCH_DRAFTED_H

#include <glint/glint.h>

enum {
    GLINT_BENCH_REPS = 100,     // repetitions at most
    GLINT_BENCH_STREAMS = 256,  // sequences at most
    GLINT_BENCH_QUESTION = 256, // tokens of a question at most
};

struct glint_bench_side {
    struct glint_engine *engine;
    struct glint_session **sessions; // [n_streams], a question each
};
struct glint_bench_drafted {
    struct glint_bench_side plain, drafted; // two engines of one model; the second has a drafter
    int n_streams;
    int n;     // tokens of an answer at most; a stop token ends it before
    int depth; // tokens held before the question
    int n_reps;
};
struct glint_bench_drafted_result {
    double plain[GLINT_BENCH_REPS], drafted[GLINT_BENCH_REPS]; // [n_reps] tokens a second
    struct glint_draft_stats stats;                            // of all repetitions
};
// The contexts must have room for depth + GLINT_BENCH_QUESTION + n. GLINT_E_INTERNAL when the
// answers of the two differ.
enum glint_status glint_bench_drafted(const struct glint_bench_drafted *test,
                                      struct glint_bench_drafted_result *result,
                                      struct glint_error *error);

#endif
