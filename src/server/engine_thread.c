// SPDX-License-Identifier: Apache-2.0
// engine_thread.c — the queue, the slots and the order of steps.
// Invariants: what is above `lock` belongs to the engine thread alone; a work is in the inbox, in
// the waiting list or in one slot. A slot without a work holds nothing: what was evaluated is kept
// as checkpoints, from which the next work goes on in any slot (docs/cache.md).
#include "server/engine_thread.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct slot {
    struct glint_session *session;
    struct glint_work *work; // NULL: idle
    int n_resumed;           // tokens of its prompt that were there
    int n_looked, last_cut; // tokens of the prompt that were looked at for cuts; where the last was
    struct glint_draft_stats drafted; // of the session, when the work began
};

struct work_list { // first in, first out
    struct glint_work *first, *last;
};

struct glint_engine_thread {
    struct glint_engine_thread_params params;
    struct glint_engine *engine;
    struct glint_chat *chat;
    struct slot *slots; // [n_slot]
    int n_slot, i_prefill;
    struct work_list waiting;
    uint64_t n_started;
    int32_t message_start, user;  // ids that begin a message of the user
    struct glint_session **batch; // [n_slot] scratch of a decode step
    int32_t *batch_ids;
    int *batch_slots;

    pthread_t thread;
    bool joined;          // of the thread that stops it
    pthread_mutex_t lock; // for all below
    pthread_cond_t wake;
    struct work_list inbox;
    struct glint_work *queued;     // those in the inbox and the waiting list
    struct glint_slot_view *views; // [n_slot]
    bool stop, nudged;
    // Stored with release once engine, chat or error are set, so that who sees it sees them.
    _Atomic enum glint_engine_state state;
    struct glint_error error;
};

static void list_put(struct work_list *list, struct glint_work *work) {
    work->next = NULL;
    if (list->last)
        list->last->next = work;
    else
        list->first = work;
    list->last = work;
}

static struct glint_work *list_take(struct work_list *list) {
    struct glint_work *work = list->first;
    if (work) {
        list->first = work->next;
        if (!list->first)
            list->last = NULL;
    }
    return work;
}

enum { GONE_SHARE = 4 }; // works of clients that left, which wait to be freed, count a quarter

// Works in the inbox and the waiting list. The lock is held.
static int count_queued(const struct glint_engine_thread *t) {
    int n = 0, n_gone = 0;
    for (const struct glint_work *work = t->queued; work; work = work->queue_next)
        if (glint_outbox_is_cancelled(work->outbox))
            n_gone++;
        else
            n++;
    return n + n_gone / GONE_SHARE;
}

static void enter_queue(struct glint_engine_thread *t, struct glint_work *work) {
    work->queue_prev = NULL;
    work->queue_next = t->queued;
    if (t->queued)
        t->queued->queue_prev = work;
    t->queued = work;
}

static void leave_queue(struct glint_engine_thread *t, struct glint_work *work) {
    pthread_mutex_lock(&t->lock);
    if (work->queue_prev)
        work->queue_prev->queue_next = work->queue_next;
    else
        t->queued = work->queue_next;
    if (work->queue_next)
        work->queue_next->queue_prev = work->queue_prev;
    pthread_mutex_unlock(&t->lock);
}

// ---- slots ------------------------------------------------------------------------------------

static void wake_starved(struct glint_engine_thread *t) {
    for (int i = 0; i < t->n_slot; i++)
        if (t->slots[i].work)
            t->slots[i].work->starved = false;
}

// The pictures that the slot's prompt is about to hold; work NULL: none any more. The places that
// the session holds stay known.
static enum glint_status set_pictures(const struct slot *slot, const struct glint_work *work,
                                      struct glint_error *err) {
    struct glint_picture *const *pictures = NULL;
    struct glint_api_error none;
    size_t n = 0;
    if (work && work->viewing)
        pictures = glint_viewing_pictures(work->viewing, &n, &none);
    return glint_session_set_pictures(slot->session, pictures, n, err);
}

static void tell_reuse(struct glint_engine_thread *t) {
    struct glint_reuse_info info = glint_engine_reuse(t->engine);
    glint_metrics_reuse(t->params.metrics, &info);
}

// A checkpoint, if it can be had: without one the next request evaluates more.
static void keep(struct glint_engine_thread *t, const struct slot *slot, int length) {
    bool known = !t->params.no_reuse && !glint_work_is_scored(slot->work); // whose it is
    if (known && length > 0)
        glint_session_keep(slot->session, length, NULL);
}

// Ends the work of a slot. What was evaluated stays as a checkpoint.
static void free_slot(struct glint_engine_thread *t, struct slot *slot) {
    keep(t, slot, glint_session_length(slot->session));
    glint_session_truncate(slot->session, 0, NULL); // always possible
    glint_session_set_constraint(slot->session, NULL);
    if (slot->work->viewing)
        set_pictures(slot, NULL, NULL);
    glint_work_close(&slot->work);
    wake_starved(t);
    tell_reuse(t);
}

static void fail_slot(struct glint_engine_thread *t, struct slot *slot,
                      const struct glint_error *error) {
    glint_work_fail(slot->work, error);
    glint_metrics_count(t->params.metrics, GLINT_COUNT_FAILED, 1);
    free_slot(t, slot);
}

static void finish_slot(struct glint_engine_thread *t, struct slot *slot, bool limit) {
    struct glint_error error = {.status = GLINT_OK};
    struct glint_draft_stats now = glint_session_draft_stats(slot->session);
    slot->work->usage.draft = (struct glint_draft_stats){now.n_round - slot->drafted.n_round,
                                                         now.n_proposed - slot->drafted.n_proposed,
                                                         now.n_accepted - slot->drafted.n_accepted};
    if (glint_work_finish(slot->work, limit, &error) != GLINT_OK) {
        fail_slot(t, slot, &error);
        return;
    }
    glint_metrics_request(t->params.metrics, &slot->work->usage, slot->work->reason);
    free_slot(t, slot);
}

// Gives back the cache pages of the sequence that came last; it is evaluated again when there is
// room. False when one sequence has them all. Checkpoints have been given up before (reuse.c).
static bool make_room(struct glint_engine_thread *t) {
    struct slot *youngest = NULL;
    int n_holding = 0;
    for (int i = 0; i < t->n_slot; i++) {
        struct slot *slot = &t->slots[i];
        if (!slot->work || glint_session_length(slot->session) == 0)
            continue;
        if (!youngest || slot->work->order > youngest->work->order)
            youngest = slot;
        n_holding++;
    }
    if (n_holding < 2)
        return false;
    glint_session_truncate(youngest->session, 0, NULL);
    youngest->work->phase = GLINT_WORK_PREFILL;
    youngest->work->starved = true;
    glint_metrics_count(t->params.metrics, GLINT_COUNT_PREEMPTED, 1);
    return true;
}

static struct slot *find_idle(struct glint_engine_thread *t) {
    for (int i = 0; i < t->n_slot; i++)
        if (!t->slots[i].work)
            return &t->slots[i];
    return NULL;
}

// The empty session goes on from the best checkpoint; without one it stays empty.
static struct glint_resumed resume(struct glint_engine_thread *t, struct slot *slot) {
    const struct glint_work *work = slot->work;
    struct glint_resumed resumed = {.n_kept = 0};
    slot->n_resumed = slot->n_looked = slot->last_cut = 0;
    if (t->params.no_reuse || glint_work_is_scored(work))
        return resumed;
    uint64_t group = t->params.share ? 0 : work->tenant;
    if (glint_session_resume(slot->session, group, work->ids, work->n_ids, &resumed, NULL) !=
        GLINT_OK)
        resumed.n_kept = 0;
    slot->n_resumed = resumed.n_kept;
    return resumed;
}

static void start_work(struct glint_engine_thread *t, struct slot *slot, struct glint_work *work) {
    struct glint_error error = {.status = GLINT_OK};
    slot->work = work;
    work->order = t->n_started++;
    work->phase = GLINT_WORK_PREFILL;
    work->started_ms = glint_clock_ms();
    work->usage.queue_ms = work->started_ms - work->arrived_ms;
    if (work->viewing)
        work->usage.image_ms = glint_viewing_ms(work->viewing);
    enum glint_status status = work->viewing ? set_pictures(slot, work, &error) : GLINT_OK;
    if (status == GLINT_OK) {
        struct glint_resumed resumed = resume(t, slot);
        work->usage.n_cached = resumed.n_kept;
        if (t->params.trace)
            glint_trace_put(t->params.trace, t->engine, work, &resumed);
        if (work->usage.n_cached > 0)
            glint_metrics_count(t->params.metrics, GLINT_COUNT_REUSED, 1);
        status = glint_session_set_sampler(slot->session, &work->sampling, &error);
    }
    if (status == GLINT_OK)
        status = glint_work_begin_echo(work, &error);
    glint_session_set_constraint(slot->session, work->constraint);
    slot->drafted = glint_session_draft_stats(slot->session);
    glint_session_expect(slot->session, work->n_predict < 0 || work->n_predict > INT_MAX
                                            ? -1
                                            : (int)work->n_predict);
    if (status != GLINT_OK)
        fail_slot(t, slot, &error);
}

static bool waits_for_pictures(const struct glint_work *work, struct glint_error *err) {
    return work->viewing && glint_viewing_state(work->viewing, err) == GLINT_VIEWING_WAITS;
}

// Whether a work waits for nothing but a slot, or has failed.
static bool is_any_ready(const struct glint_engine_thread *t) {
    for (const struct glint_work *work = t->waiting.first; work; work = work->next)
        if (!waits_for_pictures(work, NULL))
            return true;
    return false;
}

// Another choice of the same request is evaluating the same prompt: it can be gone on from then.
static bool waits_for_prompt(const struct glint_engine_thread *t, const struct glint_work *work) {
    size_t bytes = (size_t)work->n_ids * sizeof *work->ids;
    bool reuse = !t->params.no_reuse && !glint_work_is_scored(work);
    for (int i = 0; i < t->n_slot && reuse; i++) {
        const struct glint_work *other = t->slots[i].work;
        if (other && other->outbox == work->outbox && other->phase == GLINT_WORK_PREFILL &&
            other->usage.n_prompt == work->n_ids && memcmp(other->ids, work->ids, bytes) == 0)
            return true;
    }
    return false;
}

// Starts works in the order of their coming; those whose pictures are being looked at are passed,
// and those whose prompt is being evaluated for another choice.
static void admit(struct glint_engine_thread *t) {
    struct work_list kept = {NULL, NULL};
    bool full = false;
    for (struct glint_work *work; (work = list_take(&t->waiting));) {
        struct glint_error error = {.status = GLINT_OK};
        struct slot *slot = NULL;
        if (!full && !waits_for_pictures(work, &error) && !waits_for_prompt(t, work)) {
            slot = error.status == GLINT_OK ? find_idle(t) : NULL;
            full = error.status == GLINT_OK && !slot;
        }
        if (!slot && error.status == GLINT_OK) {
            list_put(&kept, work);
            continue;
        }
        leave_queue(t, work);
        if (slot) {
            start_work(t, slot, work);
            continue;
        }
        glint_work_fail(work, &error);
        glint_metrics_count(t->params.metrics, GLINT_COUNT_FAILED, 1);
        glint_work_close(&work);
    }
    t->waiting = kept;
}

// ---- steps ------------------------------------------------------------------------------------

// Checkpoints where other requests are likely to leave this prompt: before the first message of the
// user, before later ones that are far enough from the last, and at the end.
static void keep_cuts(struct glint_engine_thread *t, struct slot *slot) {
    enum { FAR = 2048 };
    const struct glint_work *work = slot->work;
    int held = glint_session_length(slot->session), n_prompt = work->usage.n_prompt;
    for (int i = slot->n_looked; i < held && i + 1 < n_prompt; i++) {
        bool is_cut = work->ids[i] == t->message_start && work->ids[i + 1] == t->user;
        if (is_cut && (slot->last_cut == 0 || i - slot->last_cut >= FAR)) {
            if (i > slot->n_resumed)
                keep(t, slot, i);
            slot->last_cut = i;
        }
    }
    slot->n_looked = held;
    if (held == n_prompt)
        keep(t, slot, n_prompt);
}

// One chunk of one prompt; the prompts take turns.
static void prefill(struct glint_engine_thread *t) {
    struct slot *slot = NULL;
    for (int i = 1; i <= t->n_slot && !slot; i++) {
        struct slot *next = &t->slots[(t->i_prefill + i) % t->n_slot];
        if (next->work && next->work->phase == GLINT_WORK_PREFILL && !next->work->starved)
            slot = next;
    }
    if (!slot)
        return;
    t->i_prefill = (int)(slot - t->slots);
    struct glint_work *work = slot->work;
    struct glint_error error = {.status = GLINT_OK};
    if (glint_session_length(slot->session) == 0 && work->usage.n_cached > 0)
        resume(t, slot); // it had to give way
    int held = glint_session_length(slot->session), n = work->n_ids - held;
    int chunk = glint_engine_info(t->engine).n_chunk;
    struct glint_eval eval = {.ids = work->ids + held, .n = n < chunk ? n : chunk};
    if (glint_work_is_scored(work) && held < work->usage.n_prompt) {
        eval.n_logits = eval.n;
        eval.on_logits = glint_work_on_logits;
        eval.user = work;
    }
    if (work->embed && eval.n == n) {
        eval.on_hidden = glint_work_on_hidden;
        eval.user = work;
    }
    double began = glint_clock_ms();
    enum glint_status status = glint_session_eval(slot->session, &eval, &error);
    if (status == GLINT_E_NOMEM && make_room(t))
        return; // tried again in the next round
    if (status == GLINT_OK && work->echo_failed)
        status = glint_fail(&error, GLINT_E_NOMEM, "no memory for the prompt's text");
    if (status != GLINT_OK) {
        fail_slot(t, slot, &error);
        return;
    }
    glint_metrics_step(t->params.metrics, eval.n, 0, glint_clock_ms() - began);
    keep_cuts(t, slot);
    if (eval.n == n)
        work->phase = GLINT_WORK_DECODE;
}

static bool is_full(const struct glint_engine_thread *t, const struct slot *slot) {
    const struct glint_work *work = slot->work;
    return work->usage.n_generated == work->n_predict ||
           work->n_ids > glint_engine_info(t->engine).n_context;
}

// Draws the next token of a slot; true when it has to be evaluated.
static bool draw(struct glint_engine_thread *t, struct slot *slot) {
    struct glint_work *work = slot->work;
    struct glint_error error = {.status = GLINT_OK};
    struct glint_sample sample;
    if (is_full(t, slot)) { // asked for no tokens at all
        finish_slot(t, slot, true);
        return false;
    }
    enum glint_status status = glint_session_sample(slot->session, &sample, &error);
    if (status == GLINT_OK)
        status = glint_work_take(work, &sample, &error);
    if (status != GLINT_OK) {
        fail_slot(t, slot, &error);
        return false;
    }
    bool full = is_full(t, slot);
    if (work->done || full) {
        finish_slot(t, slot, !work->done);
        return false;
    }
    return true;
}

static bool is_evaluated(const struct slot *slot) {
    return glint_session_length(slot->session) == slot->work->n_ids;
}

// Draws through the tokens that a drafter foresaw; what then is left takes a step.
static void draw_known(struct glint_engine_thread *t, struct slot *slot) {
    while (draw(t, slot)) {
        const struct glint_work *work = slot->work;
        if (!glint_session_take(slot->session, work->ids[work->n_ids - 1]))
            return;
    }
}

static void note_gap(struct glint_engine_thread *t, struct glint_work *work, double now) {
    double last = work->stepped_ms != 0 ? work->stepped_ms : work->first_ms;
    glint_metrics_gap(t->params.metrics, now - last);
    work->stepped_ms = now;
}

// Evaluates the newest token of every decoding sequence in one step.
static void evaluate(struct glint_engine_thread *t) {
    enum glint_status status = GLINT_E_NOMEM;
    struct glint_error error = {.status = GLINT_OK};
    double began = glint_clock_ms(), ms;
    int n = 0;
    while (status == GLINT_E_NOMEM) {
        n = 0;
        for (int i = 0; i < t->n_slot; i++) {
            const struct slot *slot = &t->slots[i];
            if (!slot->work || slot->work->phase != GLINT_WORK_DECODE || is_evaluated(slot))
                continue;
            t->batch_slots[n] = i;
            t->batch[n] = slot->session;
            t->batch_ids[n++] = slot->work->ids[slot->work->n_ids - 1];
        }
        if (n == 0)
            return;
        status = glint_engine_decode(t->engine, t->batch, t->batch_ids, n, &error);
        if (status == GLINT_E_NOMEM && !make_room(t))
            break;
    }
    ms = glint_clock_ms() - began;
    if (status == GLINT_OK)
        glint_metrics_step(t->params.metrics, 0, n, ms);
    for (int i = 0; status == GLINT_OK && i < n; i++)
        note_gap(t, t->slots[t->batch_slots[i]].work, began + ms);
    glint_relay_tell_step(glint_viewer_relay(t->params.viewer), ms);
    for (int i = 0; status != GLINT_OK && i < n; i++)
        if (t->slots[t->batch_slots[i]].work)
            fail_slot(t, &t->slots[t->batch_slots[i]], &error);
}

static void decode(struct glint_engine_thread *t) {
    for (int i = 0; i < t->n_slot; i++)
        if (t->slots[i].work && t->slots[i].work->phase == GLINT_WORK_DECODE)
            draw_known(t, &t->slots[i]);
    evaluate(t);
}

// ---- the thread -------------------------------------------------------------------------------

static void drop_cancelled(struct glint_engine_thread *t) {
    struct work_list kept = {NULL, NULL};
    for (struct glint_work *work; (work = list_take(&t->waiting));) {
        if (!glint_outbox_is_cancelled(work->outbox)) {
            list_put(&kept, work);
            continue;
        }
        leave_queue(t, work);
        glint_metrics_count(t->params.metrics,
                            waits_for_pictures(work, NULL) ? GLINT_COUNT_CANCELLED_PICTURE
                                                           : GLINT_COUNT_CANCELLED_QUEUED,
                            1);
        glint_work_close(&work);
    }
    t->waiting = kept;
    for (int i = 0; i < t->n_slot; i++) {
        struct slot *slot = &t->slots[i];
        if (!slot->work || !glint_outbox_is_cancelled(slot->work->outbox))
            continue;
        glint_metrics_count(t->params.metrics,
                            slot->work->phase == GLINT_WORK_PREFILL ? GLINT_COUNT_CANCELLED_PREFILL
                                                                    : GLINT_COUNT_CANCELLED_DECODE,
                            1);
        free_slot(t, slot);
    }
}

static int count_running(const struct glint_engine_thread *t) {
    int n = 0;
    for (int i = 0; i < t->n_slot; i++)
        n += t->slots[i].work != NULL;
    return n;
}

// Waits for something to do and takes what has arrived; false when the server stops.
static bool collect(struct glint_engine_thread *t) {
    bool idle = count_running(t) == 0 && !is_any_ready(t);
    pthread_mutex_lock(&t->lock);
    while (idle && !t->inbox.first && !t->stop && !t->nudged)
        pthread_cond_wait(&t->wake, &t->lock);
    t->nudged = false;
    for (struct glint_work *work; (work = list_take(&t->inbox));)
        list_put(&t->waiting, work);
    bool go_on = !t->stop;
    pthread_mutex_unlock(&t->lock);
    return go_on;
}

// A pause that all sequences share would be forever: the first to come may try again.
static void unstarve_all_waiting(struct glint_engine_thread *t) {
    bool can_step = false;
    for (int i = 0; i < t->n_slot; i++)
        can_step = can_step || (t->slots[i].work && !t->slots[i].work->starved);
    if (!can_step)
        wake_starved(t);
}

static void fail_all(struct glint_engine_thread *t, const struct glint_error *error) {
    struct glint_work *work;
    pthread_mutex_lock(&t->lock);
    while ((work = list_take(&t->inbox)))
        list_put(&t->waiting, work);
    t->queued = NULL;
    t->stop = true; // nothing is taken any more
    pthread_mutex_unlock(&t->lock);
    while ((work = list_take(&t->waiting))) {
        glint_work_fail(work, error);
        glint_work_close(&work);
    }
    for (int i = 0; i < t->n_slot; i++)
        if (t->slots[i].work)
            fail_slot(t, &t->slots[i], error);
}

// What begins a message of the user in the model's dialect; -1 when nothing does.
static enum glint_status find_marks(struct glint_engine_thread *t, struct glint_error *err) {
    struct glint_text role = {.data = "user", .n = 4};
    struct glint_ids ids;
    GLINT_TRY(glint_tokenize(t->engine, &role, &ids, err));
    t->message_start = glint_special_id(t->engine, "<|start|>");
    t->user = ids.n > 0 ? ids.data[0] : -1;
    glint_ids_free(&ids);
    return GLINT_OK;
}

static enum glint_status load(struct glint_engine_thread *t, struct glint_error *err) {
    int n = t->n_slot;
    GLINT_TRY(glint_engine_open(&t->engine, &t->params.engine, err));
    GLINT_TRY(glint_viewer_load(t->params.viewer, t->engine, err));
    GLINT_TRY(find_marks(t, err));
    GLINT_TRY(glint_chat_open(&t->chat, t->engine, err));
    if (!glint_chat_is_native(t->chat))
        glint_chat_close(&t->chat);
    if (t->chat) { // the first constraint makes what the others share
        struct glint_constraint_options any = {.json_object = true};
        struct glint_constraint *first = NULL;
        GLINT_TRY(glint_constraint_open(&first, t->engine, &any, err));
        glint_constraint_close(&first);
    }
    t->slots = glint_alloc((size_t)n, sizeof *t->slots);
    t->views = glint_alloc((size_t)n, sizeof *t->views);
    t->batch = glint_alloc((size_t)n, sizeof *t->batch);
    t->batch_ids = glint_alloc((size_t)n, sizeof *t->batch_ids);
    t->batch_slots = glint_alloc((size_t)n, sizeof *t->batch_slots);
    if (!t->slots || !t->views || !t->batch || !t->batch_ids || !t->batch_slots)
        return glint_fail(err, GLINT_E_NOMEM, "server: no memory for %d sequences", n);
    for (int i = 0; i < n; i++)
        GLINT_TRY(glint_session_open(&t->slots[i].session, t->engine, err));
    return GLINT_OK;
}

static void unload(struct glint_engine_thread *t) {
    for (int i = 0; t->slots && i < t->n_slot; i++)
        glint_session_close(&t->slots[i].session);
    glint_free(t->slots);
    glint_free(t->views);
    glint_free(t->batch);
    glint_free(t->batch_ids);
    glint_free(t->batch_slots);
    glint_chat_close(&t->chat);
    glint_engine_close(&t->engine);
}

// For those who ask what the sequences do.
static void publish(struct glint_engine_thread *t) {
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->n_slot; i++) {
        const struct glint_work *work = t->slots[i].work;
        struct glint_slot_view view = {.busy = work != NULL,
                                       .n_held = glint_session_length(t->slots[i].session)};
        if (work) {
            view.n_prompt = work->usage.n_prompt;
            view.n_generated = work->usage.n_generated;
            view.n_left = work->n_predict < 0 ? -1 : work->n_predict - work->usage.n_generated;
        }
        t->views[i] = view;
    }
    pthread_mutex_unlock(&t->lock);
}

static void *run(void *context) {
    struct glint_engine_thread *t = context;
    struct glint_error stopped = {.status = GLINT_E_CANCELLED, .text = "the server is stopping"};
    if (load(t, &t->error) != GLINT_OK) {
        atomic_store_explicit(&t->state, GLINT_ENGINE_FAILED, memory_order_release);
        t->n_slot = t->slots ? t->n_slot : 0;
        fail_all(t, &t->error);
        return NULL;
    }
    atomic_store_explicit(&t->state, GLINT_ENGINE_READY, memory_order_release);
    while (collect(t)) {
        drop_cancelled(t);
        admit(t);
        glint_metrics_load(t->params.metrics, count_running(t));
        glint_relay_take(glint_viewer_relay(t->params.viewer));
        prefill(t);
        decode(t);
        glint_relay_give(glint_viewer_relay(t->params.viewer));
        unstarve_all_waiting(t);
        publish(t);
        glint_metrics_load(t->params.metrics, count_running(t));
    }
    fail_all(t, &stopped);
    return NULL;
}

enum glint_status glint_engine_thread_open(struct glint_engine_thread **out,
                                           const struct glint_engine_thread_params *params,
                                           struct glint_error *err) {
    *out = NULL;
    struct glint_engine_thread *t = glint_alloc(1, sizeof *t);
    if (!t)
        return glint_fail(err, GLINT_E_NOMEM, "server: no memory");
    t->params = *params;
    t->n_slot = params->engine.n_session;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    if (pthread_create(&t->thread, NULL, run, t) != 0) {
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->lock);
        glint_free(t);
        return glint_fail(err, GLINT_E_NOMEM, "server: the engine's thread cannot be started");
    }
    *out = t;
    return GLINT_OK;
}

void glint_engine_thread_stop(struct glint_engine_thread *t) {
    if (!t || t->joined)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    t->joined = true;
}

void glint_engine_thread_close(struct glint_engine_thread **thread) {
    struct glint_engine_thread *t = *thread;
    *thread = NULL;
    if (!t)
        return;
    glint_engine_thread_stop(t);
    unload(t);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    glint_free(t);
}

enum glint_engine_state glint_engine_thread_state(const struct glint_engine_thread *t) {
    return atomic_load_explicit(&t->state, memory_order_acquire);
}

const struct glint_error *glint_engine_thread_error(const struct glint_engine_thread *t) {
    return &t->error;
}

const struct glint_engine *glint_engine_thread_engine(const struct glint_engine_thread *t) {
    return t->engine;
}

const struct glint_chat *glint_engine_thread_chat(const struct glint_engine_thread *t) {
    return t->chat;
}

enum glint_status glint_engine_thread_submit(struct glint_engine_thread *t,
                                             struct glint_work **works, int n,
                                             struct glint_error *err) {
    enum glint_status status = GLINT_OK;
    double now = glint_clock_ms();
    pthread_mutex_lock(&t->lock);
    int n_queued = count_queued(t);
    if (t->stop)
        status = glint_fail(err, GLINT_E_CANCELLED, "the server is stopping");
    else if (n_queued >= t->params.n_queue)
        status = glint_fail(err, GLINT_E_BUSY,
                            "%d requests are waiting, the server's limit; "
                            "try again in a moment",
                            n_queued);
    for (int i = 0; status == GLINT_OK && i < n; i++) {
        works[i]->arrived_ms = now;
        list_put(&t->inbox, works[i]);
        enter_queue(t, works[i]);
        works[i] = NULL;
    }
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    return status;
}

enum glint_status glint_engine_thread_constrain(struct glint_engine_thread *t,
                                                const struct glint_constraint_options *options,
                                                struct glint_constraint **constraint,
                                                struct glint_error *err) {
    return glint_constraint_open(constraint, t->engine, options, err);
}

int glint_engine_thread_slots(struct glint_engine_thread *t, struct glint_slot_view *views,
                              int max) {
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->n_slot && i < max; i++)
        views[i] = t->views[i];
    pthread_mutex_unlock(&t->lock);
    return t->n_slot;
}

int glint_engine_thread_queued(struct glint_engine_thread *t) {
    pthread_mutex_lock(&t->lock);
    int n = count_queued(t);
    pthread_mutex_unlock(&t->lock);
    return n;
}

void glint_engine_thread_nudge(struct glint_engine_thread *t) {
    pthread_mutex_lock(&t->lock);
    t->nudged = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}
