// SPDX-License-Identifier: Apache-2.0
// engine_thread.h — the one thread that owns the model: it loads it, takes works from a bounded
// queue, and turns the crank: a chunk of one prompt, then one token of every sequence.
// Other threads submit works and may use the engine and the chat template for text only.
#ifndef GLINT_SERVER_ENGINE_THREAD_H
#define GLINT_SERVER_ENGINE_THREAD_H

#include "server/metrics.h"
#include "server/trace.h"
#include "server/work.h"

struct glint_engine_thread;

enum glint_engine_state {
    GLINT_ENGINE_LOADING,
    GLINT_ENGINE_READY,
    GLINT_ENGINE_FAILED, // could not be opened: glint_engine_thread_error
};

struct glint_engine_thread_params {
    struct glint_engine_params engine; // n_session: sequences at once; strings outlive the thread
    int n_queue;                       // works that may wait
    bool no_reuse;                     // nothing that was evaluated is used again
    bool share;                        // tenants share what was evaluated
    struct glint_metrics *metrics;
    struct glint_trace *trace;   // NULL: none
    struct glint_viewer *viewer; // its vision file is opened with the model
};

enum glint_status glint_engine_thread_open(struct glint_engine_thread **thread,
                                           const struct glint_engine_thread_params *params,
                                           struct glint_error *err);
// Fails what is left over and waits for the thread's end; submitting is an error from then on. The
// engine stays open for those that still look at it. thread may be NULL.
void glint_engine_thread_stop(struct glint_engine_thread *thread);
void glint_engine_thread_close(struct glint_engine_thread **thread);

enum glint_engine_state glint_engine_thread_state(const struct glint_engine_thread *thread);
// After FAILED.
const struct glint_error *glint_engine_thread_error(const struct glint_engine_thread *thread);
// After READY. chat is NULL when the model's template is of another dialect.
const struct glint_engine *glint_engine_thread_engine(const struct glint_engine_thread *thread);
const struct glint_chat *glint_engine_thread_chat(const struct glint_engine_thread *thread);

// After READY, on any thread: opens a constraint for a work.
enum glint_status glint_engine_thread_constrain(struct glint_engine_thread *thread,
                                                const struct glint_constraint_options *options,
                                                struct glint_constraint **constraint,
                                                struct glint_error *err);
// Hands over n works, all or none. GLINT_E_BUSY when the queue is full; the caller still has them.
enum glint_status glint_engine_thread_submit(struct glint_engine_thread *thread,
                                             struct glint_work **works, int n,
                                             struct glint_error *err);
// A sequence as it stood after the last round.
struct glint_slot_view {
    bool busy;
    int n_held;                // tokens in the cache
    int n_prompt, n_generated; // of the work, when busy
    int64_t n_left;            // that it may still generate; -1: no limit
};
// After READY: copies those of at most `max` sequences to views; returns how many there are.
int glint_engine_thread_slots(struct glint_engine_thread *thread, struct glint_slot_view *views,
                              int max);
// Works that wait, in the queue and for a slot.
int glint_engine_thread_queued(struct glint_engine_thread *thread);
// Wakes the thread, which looks for cancelled works.
void glint_engine_thread_nudge(struct glint_engine_thread *thread);

#endif
