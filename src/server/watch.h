// SPDX-License-Identifier: Apache-2.0
// watch.h — one thread that looks after connections: it notices clients that leave while their
// answer is being made, wakes streams that have been silent so that they send a sign of life, and
// cuts off those that take too long to ask.
#ifndef GLINT_SERVER_WATCH_H
#define GLINT_SERVER_WATCH_H

#include "server/outbox.h"

enum glint_peer_stage {
    GLINT_PEER_IDLE, // between requests
    GLINT_PEER_HEAD, // the request line has come, headers are coming
    GLINT_PEER_BODY,
    GLINT_PEER_WORK, // the answer is being made or sent
};

enum { GLINT_WATCH_PING_MS = 10000 }; // silence after which a stream is woken

struct glint_watch;
struct glint_peer; // one connection

// gone is called from the watch's thread after it has cancelled an outbox.
enum glint_status glint_watch_open(struct glint_watch **watch, void (*gone)(void *user), void *user,
                                   struct glint_error *err);
// Every peer must have been removed.
void glint_watch_close(struct glint_watch **watch);

struct glint_peer *glint_watch_add(struct glint_watch *watch, int fd); // NULL: no memory
void glint_watch_remove(struct glint_watch *watch, struct glint_peer **peer);
// outbox: of a generation in stage WORK, else NULL; it is retained until the next stage. peer may
// be NULL.
void glint_watch_stage(struct glint_watch *watch, struct glint_peer *peer,
                       enum glint_peer_stage stage, struct glint_outbox *outbox);

#endif
