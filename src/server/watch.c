// SPDX-License-Identifier: Apache-2.0
// watch.c — a list of connections, a poll over those at work, deadlines for the others.
// Invariant: a peer in the list has an open socket; its outbox, if any, is retained by the peer.
#define _GNU_SOURCE 1 // POLLRDHUP: the client has closed its side
#include "server/watch.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

enum {
    TICK_MS = 1000,
    MAX_IDLE_MS = 150000, // the library closes idle connections after 120 s; this is for slow lines
    MAX_HEAD_MS = 30000,
    MAX_BODY_MS = 600000,
};

struct glint_peer {
    int fd;
    enum glint_peer_stage stage;
    double since_ms;
    double woken_ms;
    struct glint_outbox *outbox;
    struct glint_peer *previous, *next;
};

struct glint_watch {
    pthread_t thread;
    pthread_mutex_t lock;
    struct glint_peer *first;
    int n_peers;
    double ticked_ms; // its thread's
    bool stop;
    int pipe[2]; // a byte wakes the poll
    void (*gone)(void *user);
    void *user;
};

// What the thread works on without the lock; grows outside it.
struct round {
    struct pollfd *fds;             // [n + 1] the last is the pipe
    struct glint_outbox **outboxes; // [n] retained
    int n, capacity;
};

static bool grow(struct round *round, int n) {
    if (n <= round->capacity)
        return true;
    struct pollfd *fds = glint_realloc(round->fds, (size_t)n + 1, sizeof *fds);
    if (fds)
        round->fds = fds;
    struct glint_outbox **outboxes = glint_realloc(round->outboxes, (size_t)n, sizeof *outboxes);
    if (outboxes)
        round->outboxes = outboxes;
    if (!fds || !outboxes)
        return false;
    round->capacity = n;
    return true;
}

static double deadline(enum glint_peer_stage stage) {
    return stage == GLINT_PEER_IDLE   ? MAX_IDLE_MS
           : stage == GLINT_PEER_HEAD ? MAX_HEAD_MS
                                      : MAX_BODY_MS;
}

// Whether the client has sent its last byte and the library has read it. The library hears of each
// event once, and misses an end that comes together with bytes.
static bool has_ended(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// Fills the round with the outboxes at work. Ends connections whose time is up and, once a tick,
// those that wait for the rest of a request from a client that has ended.
static void look(struct glint_watch *watch, struct round *round) {
    double now = glint_clock_ms();
    bool tick = now - watch->ticked_ms >= TICK_MS;
    if (tick)
        watch->ticked_ms = now;
    round->n = 0;
    for (struct glint_peer *peer = watch->first; peer; peer = peer->next) {
        if (peer->stage != GLINT_PEER_WORK) {
            double age = now - peer->since_ms;
            if (age > deadline(peer->stage) || (tick && age > TICK_MS && has_ended(peer->fd)))
                shutdown(peer->fd, SHUT_RDWR); // the library sees the end and cleans up
        } else if (peer->outbox && round->n < round->capacity &&
                   !glint_outbox_is_cancelled(peer->outbox)) {
            glint_outbox_retain(peer->outbox);
            round->fds[round->n] = (struct pollfd){.fd = peer->fd, .events = POLLRDHUP};
            round->outboxes[round->n++] = peer->outbox;
        }
    }
}

// Outboxes of streams that have been silent are woken; returns with none of them held.
static void wake_silent(struct glint_watch *watch, struct round *round) {
    double now = glint_clock_ms();
    int n = 0;
    pthread_mutex_lock(&watch->lock);
    for (struct glint_peer *peer = watch->first; peer; peer = peer->next) {
        if (!peer->outbox || now - peer->woken_ms < GLINT_WATCH_PING_MS || n == round->capacity)
            continue;
        peer->woken_ms = now;
        glint_outbox_retain(peer->outbox);
        round->outboxes[n++] = peer->outbox;
    }
    pthread_mutex_unlock(&watch->lock);
    for (int i = 0; i < n; i++) {
        glint_outbox_wake(round->outboxes[i]);
        glint_outbox_release(round->outboxes[i]);
    }
}

static void *run(void *context) {
    struct glint_watch *watch = context;
    struct round round = {.n = 0};
    char drain[64];
    for (;;) {
        pthread_mutex_lock(&watch->lock);
        int n_peers = watch->n_peers;
        bool stop = watch->stop;
        pthread_mutex_unlock(&watch->lock);
        if (stop)
            break;
        if (!grow(&round, n_peers + 16))
            n_peers = 0; // watches fewer until there is memory
        if (!round.fds) {
            poll(NULL, 0, TICK_MS);
            continue;
        }
        pthread_mutex_lock(&watch->lock);
        look(watch, &round);
        pthread_mutex_unlock(&watch->lock);
        round.fds[round.n] = (struct pollfd){.fd = watch->pipe[0], .events = POLLIN};
        poll(round.fds, (nfds_t)round.n + 1, TICK_MS);
        while (read(watch->pipe[0], drain, sizeof drain) == sizeof drain)
            continue;
        bool gone = false;
        for (int i = 0; i < round.n; i++) {
            if (round.fds[i].revents != 0) {
                glint_outbox_cancel(round.outboxes[i]);
                gone = true;
            }
            glint_outbox_release(round.outboxes[i]);
        }
        if (gone)
            watch->gone(watch->user);
        wake_silent(watch, &round);
    }
    glint_free(round.fds);
    glint_free(round.outboxes);
    return NULL;
}

enum glint_status glint_watch_open(struct glint_watch **out, void (*gone)(void *user), void *user,
                                   struct glint_error *err) {
    *out = NULL;
    struct glint_watch *watch = glint_alloc(1, sizeof *watch);
    if (!watch)
        return glint_fail(err, GLINT_E_NOMEM, "server: no memory");
    watch->gone = gone;
    watch->user = user;
    if (pipe2(watch->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        glint_free(watch);
        return glint_fail(err, GLINT_E_IO, "server: no pipe: too many open files");
    }
    pthread_mutex_init(&watch->lock, NULL);
    if (pthread_create(&watch->thread, NULL, run, watch) != 0) {
        pthread_mutex_destroy(&watch->lock);
        close(watch->pipe[0]);
        close(watch->pipe[1]);
        glint_free(watch);
        return glint_fail(err, GLINT_E_NOMEM, "server: a thread cannot be started");
    }
    *out = watch;
    return GLINT_OK;
}

static void wake(struct glint_watch *watch) {
    // A full pipe will wake it as well.
    if (write(watch->pipe[1], "", 1) < 0)
        return;
}

void glint_watch_close(struct glint_watch **watch_in) {
    struct glint_watch *watch = *watch_in;
    *watch_in = NULL;
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_mutex_unlock(&watch->lock);
    wake(watch);
    pthread_join(watch->thread, NULL);
    pthread_mutex_destroy(&watch->lock);
    close(watch->pipe[0]);
    close(watch->pipe[1]);
    glint_free(watch);
}

struct glint_peer *glint_watch_add(struct glint_watch *watch, int fd) {
    struct glint_peer *peer = glint_alloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->fd = fd;
    peer->since_ms = glint_clock_ms();
    pthread_mutex_lock(&watch->lock);
    peer->next = watch->first;
    if (watch->first)
        watch->first->previous = peer;
    watch->first = peer;
    watch->n_peers++;
    pthread_mutex_unlock(&watch->lock);
    return peer;
}

void glint_watch_remove(struct glint_watch *watch, struct glint_peer **peer_in) {
    struct glint_peer *peer = *peer_in;
    *peer_in = NULL;
    if (!peer)
        return;
    pthread_mutex_lock(&watch->lock);
    if (peer->previous)
        peer->previous->next = peer->next;
    else
        watch->first = peer->next;
    if (peer->next)
        peer->next->previous = peer->previous;
    watch->n_peers--;
    pthread_mutex_unlock(&watch->lock);
    if (peer->outbox)
        glint_outbox_release(peer->outbox);
    glint_free(peer);
}

void glint_watch_stage(struct glint_watch *watch, struct glint_peer *peer,
                       enum glint_peer_stage stage, struct glint_outbox *outbox) {
    if (!peer)
        return;
    if (outbox)
        glint_outbox_retain(outbox);
    pthread_mutex_lock(&watch->lock);
    struct glint_outbox *old = peer->outbox;
    peer->stage = stage;
    peer->outbox = outbox;
    peer->since_ms = peer->woken_ms = glint_clock_ms();
    pthread_mutex_unlock(&watch->lock);
    if (old)
        glint_outbox_release(old);
    if (outbox)
        wake(watch);
}
