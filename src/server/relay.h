// SPDX-License-Identifier: Apache-2.0
// relay.h — whose turn it is to compute. The engine's steps and the pieces of a picture's tower use
// the same processors, so they run one at a time, in the order of asking.
#ifndef GLINT_SERVER_RELAY_H
#define GLINT_SERVER_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct glint_relay {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t n_asked, n_served; // takers so far; the one whose turn it is
    double taken_ms;            // when the present holder took it
    double step_ms;             // what a step of the engine took lately
};

void glint_relay_init(struct glint_relay *relay);
void glint_relay_fini(struct glint_relay *relay);
// Waits for the turn.
void glint_relay_take(struct glint_relay *relay);
void glint_relay_give(struct glint_relay *relay);
// Engine: what a step of decoding takes.
void glint_relay_tell_step(struct glint_relay *relay, double ms);
// Tower, holding the turn between two pieces of work: lets the engine go first when it waits and
// the turn has lasted as long as one of its steps. So both get half of the time, and nobody waits
// for more than a step and a piece.
void glint_relay_share(struct glint_relay *relay);

#endif
