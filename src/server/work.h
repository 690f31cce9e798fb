// SPDX-License-Identifier: Apache-2.0
// work.h — one sequence to generate: what a protocol asks of the engine thread.
// Made on a connection's thread, handed to the engine thread whole, freed there. What it says
// goes to the outbox.
#ifndef GLINT_SERVER_WORK_H
#define GLINT_SERVER_WORK_H

#include "server/viewer.h"

enum glint_work_phase {
    GLINT_WORK_PREFILL, // ids are being evaluated
    GLINT_WORK_DECODE,  // the session's logits say what comes next
    GLINT_WORK_OVER,
};

struct glint_work {
    // Asked; set before it is submitted.
    struct glint_sampler_options sampling; // bias points to `bias`
    struct glint_buffer bias;              // array of struct glint_logit_bias
    struct glint_turn *turn;               // takes the output apart; NULL: raw text
    struct glint_detokenizer *detokenizer; // for raw text
    struct glint_constraint *constraint;   // NULL: anything may come
    struct glint_viewing *viewing;         // the prompt's pictures; NULL: none
    struct glint_call_memory *memory;      // of turns that call tools; borrowed, NULL: none
    int64_t n_predict;                     // -1: no limit
    bool ignore_eos;
    bool echo;       // raw text: the prompt is said first, with its log-probabilities if asked for
    bool embed;      // nothing is generated: the last token's row after the final norm is said
    uint64_t tenant; // sequences are reused within one tenant only
    struct glint_outbox *outbox;
    int choice;
    char request_id[65]; // for the trace

    // The engine thread's.
    const struct glint_engine *engine;
    enum glint_work_phase phase;
    int32_t *ids; // [n_capacity] the prompt, usage.n_prompt of them, and what was generated
    int n_ids, n_capacity;
    int n_echoed;                  // tokens of the prompt that have been said
    bool echo_failed;              // memory ran out while they were
    uint64_t order;                // of arrival
    bool starved;                  // waits until cache pages are given back
    int n_unsure;                  // tokens whose text has not come out yet
    struct glint_buffer unsure;    // their TOKEN and TOP notes, for the next content note
    bool done;                     // the turn has ended
    enum glint_turn_reason reason; // STOP until the turn says otherwise
    struct glint_buffer stop;      // the stop string that ended the turn
    struct glint_buffer calls;     // the turn's, as the memory takes them, the last one open
    struct glint_buffer said;      // its content
    struct glint_usage usage;
    double arrived_ms, started_ms, first_ms;
    double stepped_ms; // when a step last brought tokens; 0: none has since the first
    struct glint_work *next;
    struct glint_work *queue_prev, *queue_next; // of those that wait, under the thread's lock
};

// options NULL: raw text. options->on_event and user are set here. The outbox is set later, with
// one reference for the work.
enum glint_status glint_work_open(struct glint_work **work, const struct glint_engine *engine,
                                  const struct glint_turn_options *options,
                                  struct glint_error *err);
// Copies options with what their bias points to; the seed goes up by seed_step.
enum glint_status glint_work_set_sampling(struct glint_work *work,
                                          const struct glint_sampler_options *options,
                                          uint64_t seed_step, struct glint_error *err);
enum glint_status glint_work_put_prompt(struct glint_work *work, const struct glint_ids *prompt,
                                        struct glint_error *err);
// Retains the pictures of the prompt, which may be NULL.
void glint_work_set_viewing(struct glint_work *work, struct glint_viewing *viewing);
// Says that the work is over to its outbox, if it has one, and frees it.
void glint_work_close(struct glint_work **work);

// Engine thread, with echo: says what can be said of the prompt before it is evaluated.
enum glint_status glint_work_begin_echo(struct glint_work *work, struct glint_error *err);
// Log-probabilities of the prompt are to be said: every row's logits go to glint_work_on_logits,
// with the work as its user.
bool glint_work_is_scored(const struct glint_work *work);
void glint_work_on_logits(void *work, int position, const float *logits);
// With `embed`: rows of the prompt's last chunk go here, as of glint_eval.on_hidden.
void glint_work_on_hidden(void *work, int k, int position, const float *row);
// Engine thread: takes the next token: keeps it, lets the turn say what it means, counts.
// sample->top may be NULL. work->done is set when it was the last.
enum glint_status glint_work_take(struct glint_work *work, const struct glint_sample *sample,
                                  struct glint_error *err);
// Generation is over; limit: by a limit rather than by the model.
enum glint_status glint_work_finish(struct glint_work *work, bool limit, struct glint_error *err);
void glint_work_fail(struct glint_work *work, const struct glint_error *error);

#endif
