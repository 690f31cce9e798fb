// SPDX-License-Identifier: Apache-2.0
// penalty_window.c — linear probing with deletion by moving back, so that no marks pile up.
#include "sample/penalty_window.h"

#include "base/alloc.h"

#include <string.h>

enum glint_status glint_penalty_window_init(struct glint_penalty_window *window, uint32_t n_last,
                                            uint32_t n_rewind, struct glint_error *err) {
    memset(window, 0, sizeof *window);
    if (n_last == 0)
        return GLINT_OK;
    uint32_t n_slots = 4;
    while (n_slots < 2 * n_last + 2)
        n_slots *= 2;
    window->n_last = n_last;
    window->n_ring = n_last + n_rewind;
    window->slot_mask = n_slots - 1;
    window->ring = glint_alloc(window->n_ring, sizeof *window->ring);
    window->slots = glint_alloc(n_slots, sizeof *window->slots);
    if (window->ring && window->slots)
        return GLINT_OK;
    glint_penalty_window_fini(window);
    return glint_fail(err, GLINT_E_NOMEM, "sampler: no memory for the last %u tokens", n_last);
}

void glint_penalty_window_fini(struct glint_penalty_window *window) {
    glint_free(window->ring);
    glint_free(window->slots);
    memset(window, 0, sizeof *window);
}

void glint_penalty_window_reset(struct glint_penalty_window *window) {
    window->n_pushed = 0;
    if (window->n_last > 0)
        memset(window->slots, 0, ((size_t)window->slot_mask + 1) * sizeof *window->slots);
}

static uint32_t home_of(const struct glint_penalty_window *window, int32_t id) {
    return ((uint32_t)id * 0x9e3779b1u >> 7) & window->slot_mask;
}

static uint32_t slot_of(const struct glint_penalty_window *window, int32_t id) {
    uint32_t at = home_of(window, id);
    while (window->slots[at].n > 0 && window->slots[at].id != id)
        at = (at + 1) & window->slot_mask;
    return at;
}

static void count_up(struct glint_penalty_window *window, int32_t id) {
    struct glint_token_count *slot = &window->slots[slot_of(window, id)];
    slot->id = id;
    slot->n++;
}

static void count_down(struct glint_penalty_window *window, int32_t id) {
    uint32_t mask = window->slot_mask, hole = slot_of(window, id);
    if (--window->slots[hole].n > 0)
        return;
    for (uint32_t at = (hole + 1) & mask; window->slots[at].n > 0; at = (at + 1) & mask) {
        // The entry may fill the hole unless its home lies cyclically in (hole, at].
        uint32_t from_home = (at - home_of(window, window->slots[at].id)) & mask;
        if (from_home < ((at - hole) & mask))
            continue;
        window->slots[hole] = window->slots[at];
        window->slots[at].n = 0;
        hole = at;
    }
}

void glint_penalty_window_push(struct glint_penalty_window *window, int32_t id) {
    if (window->n_last == 0)
        return;
    if (window->n_pushed >= window->n_last)
        count_down(window, window->ring[(window->n_pushed - window->n_last) % window->n_ring]);
    window->ring[window->n_pushed % window->n_ring] = id;
    count_up(window, id);
    window->n_pushed++;
}

void glint_penalty_window_pop(struct glint_penalty_window *window) {
    if (window->n_last == 0 || window->n_pushed == 0)
        return;
    window->n_pushed--;
    count_down(window, window->ring[window->n_pushed % window->n_ring]);
    if (window->n_pushed >= window->n_last)
        count_up(window, window->ring[(window->n_pushed - window->n_last) % window->n_ring]);
}
