// SPDX-License-Identifier: Apache-2.0
// outbox.h — what the engine thread says to a connection: notes, in order, and an end.
// The engine thread puts and never waits; the connection takes everything there is, or asks to be
// woken. Held by the connection and by each work that puts into it; the last to let go frees it.
// A reader that falls too far behind is cancelled, so a slow client costs bounded memory.
#ifndef GLINT_SERVER_OUTBOX_H
#define GLINT_SERVER_OUTBOX_H

#include "base/buffer.h"
#include "base/status.h"
#include "server/random_id.h"

enum glint_note_kind {
    GLINT_NOTE_REASONING, // text
    GLINT_NOTE_CONTENT,   // text
    GLINT_NOTE_CALL,      // a call begins: index, its name as text
    GLINT_NOTE_ARGUMENTS, // of that call: a piece of JSON text
    GLINT_NOTE_TOKEN,     // the next content note holds this token: its bytes, logprob, id
    GLINT_NOTE_TOP,       // a likely alternative to the token before
    GLINT_NOTE_HIDDEN,    // as text the bytes of a row of floats
    GLINT_NOTE_FINISH,    // reason, usage, and as text the stop string that came, if one did
    GLINT_NOTE_FAIL,      // status, text; nothing of this choice follows
};

struct glint_usage {
    int n_prompt, n_cached; // tokens; cached ones were not evaluated again
    int n_image;            // tokens of the prompt that are rows of pictures
    int n_generated, n_reasoning;
    struct glint_draft_stats draft;
    double queue_ms, prefill_ms, decode_ms;
    double image_ms; // part of queue_ms: until the pictures had been looked at
};

struct glint_note {
    enum glint_note_kind kind;
    int choice;                              // which of the works of a request
    size_t index;                            // of a call
    char call_id[GLINT_RANDOM_ID_CHARS + 1]; // CALL: what follows a protocol's prefix in its id
    enum glint_turn_reason reason;
    enum glint_status status;
    float logprob;
    int32_t id;
    struct glint_usage usage;
    bool no_logprob;  // TOKEN: nothing stood before it
    bool special;     // TOKEN: a control token, which is in no text
    const char *text; // [n], terminated; valid while the batch taken is
    size_t n;
};

struct glint_outbox;

// One reference each for the caller and for n works. wake is called from other threads, once
// after each glint_outbox_wait that returned true.
struct glint_outbox *glint_outbox_open(int n_works, void (*wake)(void *user), void *user);
void glint_outbox_retain(struct glint_outbox *outbox);
void glint_outbox_release(struct glint_outbox *outbox);

// Engine side.
void glint_outbox_put(struct glint_outbox *outbox, const struct glint_note *note);
// A work is over and lets go; the reader is woken when it was the last.
void glint_outbox_finish(struct glint_outbox *outbox);
bool glint_outbox_is_cancelled(const struct glint_outbox *outbox);

// Connection side.
// The reader is gone, or wants no more.
void glint_outbox_cancel(struct glint_outbox *outbox);
// Swaps everything put so far into batch (whose old content is dropped); true when all works are
// over and nothing more will come.
bool glint_outbox_take(struct glint_outbox *outbox, struct glint_buffer *batch);
// The id of a call as a protocol says it: with a prefix that ends in '_', or without one.
void glint_note_call_id(char out[GLINT_RANDOM_ID_BYTES], const char *prefix,
                        const struct glint_note *note);
// Appends a note to a batch.
void glint_note_append(struct glint_buffer *batch, const struct glint_note *note);
// The next note of a batch; false at its end. *at starts at 0.
bool glint_outbox_next(const struct glint_buffer *batch, size_t *at, struct glint_note *note);
// With nothing there: calls suspend(user), during which no wake comes, and asks for a wake; true.
// False when there is something to take, or the end.
bool glint_outbox_wait(struct glint_outbox *outbox, void (*suspend)(void *user));
// Wakes the reader if it waits.
void glint_outbox_wake(struct glint_outbox *outbox);

#endif
