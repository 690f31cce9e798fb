// SPDX-License-Identifier: Apache-2.0
// relay.c — tickets under a lock.
#include "server/relay.h"

#include "base/clock.h"

void glint_relay_init(struct glint_relay *relay) {
    *relay = (struct glint_relay){.n_asked = 0};
    pthread_mutex_init(&relay->lock, NULL);
    pthread_cond_init(&relay->moved, NULL);
}

void glint_relay_fini(struct glint_relay *relay) {
    pthread_cond_destroy(&relay->moved);
    pthread_mutex_destroy(&relay->lock);
}

void glint_relay_take(struct glint_relay *relay) {
    pthread_mutex_lock(&relay->lock);
    uint64_t ticket = relay->n_asked++;
    while (relay->n_served != ticket)
        pthread_cond_wait(&relay->moved, &relay->lock);
    relay->taken_ms = glint_clock_ms();
    pthread_mutex_unlock(&relay->lock);
}

void glint_relay_give(struct glint_relay *relay) {
    pthread_mutex_lock(&relay->lock);
    relay->n_served++;
    pthread_cond_broadcast(&relay->moved);
    pthread_mutex_unlock(&relay->lock);
}

void glint_relay_tell_step(struct glint_relay *relay, double ms) {
    pthread_mutex_lock(&relay->lock);
    relay->step_ms = ms;
    pthread_mutex_unlock(&relay->lock);
}

void glint_relay_share(struct glint_relay *relay) {
    pthread_mutex_lock(&relay->lock);
    bool wanted = relay->n_asked - relay->n_served > 1; // one of them is the holder
    bool enough = glint_clock_ms() - relay->taken_ms >= relay->step_ms;
    pthread_mutex_unlock(&relay->lock);
    if (wanted && enough) {
        glint_relay_give(relay);
        glint_relay_take(relay);
    }
}
