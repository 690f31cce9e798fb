// SPDX-License-Identifier: Apache-2.0
// outbox.c — notes as records in one buffer, which changes hands whole.
#include "server/outbox.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PENDING = 32 << 20 }; // bytes that a reader may be behind

struct glint_outbox {
    pthread_mutex_t lock;
    // Set by either side, read by both without the lock: it orders nothing else.
    atomic_bool cancelled;
    struct glint_buffer pending;
    int n_running;
    int n_references;
    bool waiting; // the reader is suspended: the next put wakes it
    void (*wake)(void *user);
    void *user;
};

struct glint_outbox *glint_outbox_open(int n_works, void (*wake)(void *user), void *user) {
    struct glint_outbox *outbox = glint_alloc(1, sizeof *outbox);
    if (!outbox)
        return NULL;
    if (pthread_mutex_init(&outbox->lock, NULL) != 0) {
        glint_free(outbox);
        return NULL;
    }
    outbox->n_running = n_works;
    outbox->n_references = n_works + 1;
    outbox->wake = wake;
    outbox->user = user;
    return outbox;
}

void glint_outbox_retain(struct glint_outbox *outbox) {
    pthread_mutex_lock(&outbox->lock);
    outbox->n_references++;
    pthread_mutex_unlock(&outbox->lock);
}

void glint_outbox_release(struct glint_outbox *outbox) {
    pthread_mutex_lock(&outbox->lock);
    bool last = --outbox->n_references == 0;
    pthread_mutex_unlock(&outbox->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&outbox->lock);
    glint_buffer_fini(&outbox->pending);
    glint_free(outbox);
}

// Ends the lock and wakes the reader if it waits. The reader cannot go away in between: it is
// suspended until this wake.
static void unlock_and_wake(struct glint_outbox *outbox) {
    bool wake = outbox->waiting;
    outbox->waiting = false;
    pthread_mutex_unlock(&outbox->lock);
    if (wake)
        outbox->wake(outbox->user);
}

void glint_note_call_id(char out[GLINT_RANDOM_ID_BYTES], const char *prefix,
                        const struct glint_note *note) {
    snprintf(out, GLINT_RANDOM_ID_BYTES, "%s%s", prefix, note->call_id);
}

void glint_note_append(struct glint_buffer *batch, const struct glint_note *note) {
    static const char zeros[sizeof(struct glint_note)];
    glint_buffer_append(batch, note, sizeof *note);
    glint_buffer_append(batch, note->text, note->n);
    glint_buffer_append(batch, zeros, sizeof *note - note->n % sizeof *note); // a zero at least
}

void glint_outbox_put(struct glint_outbox *outbox, const struct glint_note *note) {
    pthread_mutex_lock(&outbox->lock);
    glint_note_append(&outbox->pending, note);
    if (outbox->pending.failed || outbox->pending.n > MAX_PENDING)
        atomic_store_explicit(&outbox->cancelled, true, memory_order_relaxed);
    unlock_and_wake(outbox);
}

void glint_outbox_finish(struct glint_outbox *outbox) {
    pthread_mutex_lock(&outbox->lock);
    outbox->n_running--;
    unlock_and_wake(outbox);
    glint_outbox_release(outbox);
}

bool glint_outbox_is_cancelled(const struct glint_outbox *outbox) {
    return atomic_load_explicit(&outbox->cancelled, memory_order_relaxed);
}

void glint_outbox_cancel(struct glint_outbox *outbox) {
    atomic_store_explicit(&outbox->cancelled, true, memory_order_relaxed);
}

bool glint_outbox_take(struct glint_outbox *outbox, struct glint_buffer *batch) {
    glint_buffer_clear(batch);
    pthread_mutex_lock(&outbox->lock);
    struct glint_buffer taken = outbox->pending;
    outbox->pending = *batch;
    *batch = taken;
    bool over = outbox->n_running == 0;
    pthread_mutex_unlock(&outbox->lock);
    return over;
}

bool glint_outbox_next(const struct glint_buffer *batch, size_t *at, struct glint_note *note) {
    size_t left = batch->n - *at;
    if (left < sizeof *note)
        return false;
    memcpy(note, batch->data + *at, sizeof *note);
    note->text = batch->data + *at + sizeof *note;
    size_t size = 2 * sizeof *note + note->n - note->n % sizeof *note;
    if (left < size) // memory ran out while it was put
        return false;
    *at += size;
    return true;
}

bool glint_outbox_wait(struct glint_outbox *outbox, void (*suspend)(void *user)) {
    pthread_mutex_lock(&outbox->lock);
    bool wait = outbox->pending.n == 0 && outbox->n_running != 0;
    if (wait) {
        suspend(outbox->user);
        outbox->waiting = true;
    }
    pthread_mutex_unlock(&outbox->lock);
    return wait;
}

void glint_outbox_wake(struct glint_outbox *outbox) {
    pthread_mutex_lock(&outbox->lock);
    unlock_and_wake(outbox);
}
