// SPDX-License-Identifier: Apache-2.0
// answer.h — one answer generated: ids are drawn and evaluated until the model ends its turn, a
// limit is reached or Ctrl-C comes; what they say goes out as the events of a turn.
#ifndef GLINT_APPS_ANSWER_H
#define GLINT_APPS_ANSWER_H

#include <glint/glint.h>

struct glint_answer_options {
    struct glint_turn_options turn;        // tools, start, stops, budget, and who gets the events
    const char *tool_choice;               // as in glint_constraint_options
    struct glint_json_text schema;         // of the answer
    bool json_object;                      // the answer is any JSON object
    bool raw;                              // no dialect: all text is content; no stops, no budget
    bool ignore_eos;                       // go on after a stop token
    int64_t n_predict;                     // -1: no limit
    void (*on_id)(void *user, int32_t id); // each id of the answer; user is the turn's; may be NULL
};

struct glint_answer {               // all-zero is a valid empty one
    int32_t *ids;                   // [n] drawn, and put in to close reasoning
    struct glint_logprob *logprobs; // [n]
    int n, n_capacity;
    const char *finish; // "stop", "length", "tool_calls" or "interrupt"
    bool whole;         // the model ended its turn itself, with <|eot|>
    struct glint_draft_stats draft;
    int n_reused; // tokens of the prompt that the session held already
    double prefill_ms, decode_ms;
};

// The session then holds the prompt and the answer's ids, the last one excepted. Ctrl-C in an
// answer is not a failure; in the prompt it is GLINT_E_CANCELLED.
enum glint_status glint_answer_generate(struct glint_answer *answer, struct glint_engine *engine,
                                        struct glint_session *session,
                                        const struct glint_ids *prompt,
                                        const struct glint_answer_options *options,
                                        struct glint_error *err);
// "31 of 40 drafted right in 5 rounds"; empty when nothing was drafted.
void glint_answer_print_draft(const struct glint_answer *answer, char *out, size_t n);
void glint_answer_fini(struct glint_answer *answer);

#endif
