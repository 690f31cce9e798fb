// SPDX-License-Identifier: Apache-2.0
// viewer.h — the pictures and videos of requests: from base64, or an address, to the rows that a
// prompt needs. Four lines of requests, each with threads of its own: fetching from other servers,
// decoding, the same for requests with videos, looking (the tower). A thread decodes one picture at
// a time, and one is looked at, so that memory is bounded; in the tower's line the requests take
// turns, a picture each. A client that has left costs at most the piece of work that has begun.
#ifndef GLINT_SERVER_VIEWER_H
#define GLINT_SERVER_VIEWER_H

#include "server/media.h"
#include "server/metrics.h"
#include "server/relay.h"
#include "server/server.h"

struct glint_viewer;

// Pictures of one request, in the order of its prompt. Held by the exchange, by each of its works,
// and by the line it stands in; the last to let go closes the pictures.
struct glint_viewing;

struct glint_viewer_params {
    struct glint_vision_params
        vision;     // path NULL: pictures are refused. Strings outlive the viewer
    int max_tokens; // of a picture whose request sets no limit; 0: 4096
    const struct glint_video_reader *video; // NULL: videos are refused
    bool video_summed;                      // as in glint_picture_source.summed_kernel
    bool fetch;                             // addresses of other servers may be asked
    bool fetch_private;                     // also those of this machine and of private networks
    int n_queue;                            // requests that may wait for their pictures
    size_t max_bytes;                       // of all encoded pictures that wait together
    size_t max_request_bytes;               // of those fetched for one request
    struct glint_metrics *metrics;
    // A request's rows are there, or will never be. On the viewer's threads.
    void (*seen)(void *user);
    void *user;
};

enum glint_status glint_viewer_open(struct glint_viewer **viewer,
                                    const struct glint_viewer_params *params,
                                    struct glint_error *err);
// Opens the vision file, if there is one, for this model. Before the first request.
enum glint_status glint_viewer_load(struct glint_viewer *viewer, const struct glint_engine *engine,
                                    struct glint_error *err);
bool glint_viewer_can_see(const struct glint_viewer *viewer);
// Fails all that wait and ends the threads. viewer may be NULL.
void glint_viewer_stop(struct glint_viewer *viewer);
// Every viewing must have been let go of.
void glint_viewer_close(struct glint_viewer **viewer);
struct glint_relay *glint_viewer_relay(struct glint_viewer *viewer);

struct glint_viewing_request {
    const struct glint_media *media;
    int max_tokens;              // of each picture; 0: the server's
    uint64_t tenant;             // whose pictures they are
    struct glint_outbox *outbox; // finished when they are decoded, or one has failed
};
// Takes the sources' bytes and sends them to be decoded, with one reference for the caller. False
// after filling error, which names the part; the outbox is not finished then.
bool glint_viewer_begin(struct glint_viewer *viewer, const struct glint_viewing_request *request,
                        struct glint_viewing **viewing, struct glint_api_error *error);

void glint_viewing_retain(struct glint_viewing *viewing);
void glint_viewing_release(struct glint_viewing **viewing); // accepts NULL
// After the outbox has been finished: the pictures [n]; NULL after filling error.
struct glint_picture *const *glint_viewing_pictures(const struct glint_viewing *viewing, size_t *n,
                                                    struct glint_api_error *error);
int glint_viewing_tokens(const struct glint_viewing *viewing); // rows of all pictures

// After that: has the pictures looked at, for a generation that answers to outbox.
void glint_viewing_look(struct glint_viewing *viewing, struct glint_outbox *outbox);
enum glint_viewing_state { GLINT_VIEWING_WAITS, GLINT_VIEWING_SEEN, GLINT_VIEWING_FAILED };
// FAILED: err tells why.
enum glint_viewing_state glint_viewing_state(const struct glint_viewing *viewing,
                                             struct glint_error *err);
// Milliseconds from glint_viewing_look until they were seen.
double glint_viewing_ms(const struct glint_viewing *viewing);

#endif
