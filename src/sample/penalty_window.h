// SPDX-License-Identifier: Apache-2.0
// penalty_window.h — how often each token occurs among the last N.
// A ring of ids and a small hash table of counts. The ring holds some tokens more than the
// window, so that the newest can be taken back exactly.
#ifndef GLINT_SAMPLE_PENALTY_WINDOW_H
#define GLINT_SAMPLE_PENALTY_WINDOW_H

#include "base/status.h"

struct glint_token_count {
    int32_t id;
    uint32_t n; // 0: free slot
};

struct glint_penalty_window {
    uint32_t n_last;                 // tokens in the window; 0: the window is off
    uint32_t n_ring;                 // n_last plus those that can be taken back
    int32_t *ring;                   // [n_ring], owned
    uint64_t n_pushed;               // tokens pushed and not taken back
    uint32_t slot_mask;              // slots - 1
    struct glint_token_count *slots; // owned, more than twice n_last
};

enum glint_status glint_penalty_window_init(struct glint_penalty_window *window, uint32_t n_last,
                                            uint32_t n_rewind, struct glint_error *err);
void glint_penalty_window_fini(struct glint_penalty_window *window);
void glint_penalty_window_reset(struct glint_penalty_window *window);
void glint_penalty_window_push(struct glint_penalty_window *window, int32_t id);
// Takes back the newest token; at most n_rewind times in a row.
void glint_penalty_window_pop(struct glint_penalty_window *window);

#endif
