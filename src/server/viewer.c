// SPDX-License-Identifier: Apache-2.0
// viewer.c — the lines, and what is done in each.
// Invariants: a viewing stands in one line at most, which holds a reference to it. Its sources and
// pictures belong to the thread that has taken it out of a line; its stage says, under the lock,
// when they may be read by others.
#include "server/viewer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "server/data_url.h"
#include "server/random_id.h"
#include "server/remote_file.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum line_kind { LINE_FETCH, LINE_DECODE, LINE_VIDEO, LINE_LOOK, N_LINES };
enum { N_FETCHERS = 4, LOW_DETAIL_TOKENS = 256 };

enum stage { STAGE_LOADING, STAGE_LOADED, STAGE_LOOKING, STAGE_SEEN, STAGE_FAILED };

struct source {
    struct glint_buffer data; // the encoded file
    char *url;                // to fetch it from; NULL: it is there
    bool is_video;
    int max_tokens;
    char path[GLINT_MEDIA_PATH];
};

struct glint_viewing {
    struct glint_viewer *viewer;
    struct glint_outbox *outbox; // who waits: for loading, then for the answer
    uint64_t realm;
    struct source *sources;          // [n]
    struct glint_picture **pictures; // [n_opened]
    size_t n, n_opened;
    bool has_video;
    int n_tokens;
    // Under the viewer's lock.
    int n_references;
    enum stage stage;
    struct glint_error error; // FAILED
    bool over_context;        // FAILED because there are too many tokens
    double asked_ms, seen_ms;
    struct glint_viewing *next;
};

struct line {
    struct glint_viewing *first, *last;
    pthread_cond_t wake;
    void (*serve)(struct glint_viewer *viewer, struct glint_viewing *viewing);
    struct glint_viewer *viewer;
};

struct glint_viewer {
    struct glint_viewer_params params;
    struct glint_relay relay;
    struct glint_vision *vision; // NULL: none
    int n_context;
    uint64_t salt;
    struct glint_viewing *looking; // the tower thread's

    pthread_mutex_t lock;
    struct line lines[N_LINES];
    int n_loading;    // viewings that wait to be loaded
    size_t n_bytes;   // of the sources they hold
    atomic_bool stop; // set under the lock; read without by callbacks, which only give up
    pthread_t threads[N_FETCHERS + 3];
    int n_threads;
};

// ---- lines ------------------------------------------------------------------------------------

// Under the lock. The line takes over the caller's reference.
static void stand_in(struct glint_viewer *viewer, enum line_kind kind,
                     struct glint_viewing *viewing) {
    struct line *line = &viewer->lines[kind];
    viewing->next = NULL;
    if (line->last)
        line->last->next = viewing;
    else
        line->first = viewing;
    line->last = viewing;
    pthread_cond_signal(&line->wake);
}

static struct glint_viewing *take_first(struct line *line) {
    struct glint_viewing *viewing = line->first;
    if (viewing) {
        line->first = viewing->next;
        if (!line->first)
            line->last = NULL;
    }
    return viewing;
}

static bool is_given_up(void *user) {
    const struct glint_viewing *viewing = user;
    // The flag orders nothing.
    return atomic_load_explicit(&viewing->viewer->stop, memory_order_relaxed) ||
           glint_outbox_is_cancelled(viewing->outbox);
}

static void *run_line(void *context) {
    struct line *line = context;
    struct glint_viewer *viewer = line->viewer;
    pthread_mutex_lock(&viewer->lock);
    for (;;) {
        // What still stands in line when the viewer stops is served too: it is given up at once.
        while (!line->first && !viewer->stop)
            pthread_cond_wait(&line->wake, &viewer->lock);
        struct glint_viewing *viewing = take_first(line);
        if (!viewing)
            break;
        pthread_mutex_unlock(&viewer->lock);
        line->serve(viewer, viewing);
        pthread_mutex_lock(&viewer->lock);
    }
    pthread_mutex_unlock(&viewer->lock);
    return NULL;
}

// ---- references -------------------------------------------------------------------------------

void glint_viewing_retain(struct glint_viewing *viewing) {
    pthread_mutex_lock(&viewing->viewer->lock);
    viewing->n_references++;
    pthread_mutex_unlock(&viewing->viewer->lock);
}

static void drop_sources(struct glint_viewing *viewing) {
    for (size_t i = 0; viewing->sources && i < viewing->n; i++) {
        glint_buffer_fini(&viewing->sources[i].data);
        glint_free(viewing->sources[i].url);
    }
    glint_free(viewing->sources);
    viewing->sources = NULL;
}

void glint_viewing_release(struct glint_viewing **viewing_in) {
    struct glint_viewing *viewing = *viewing_in;
    *viewing_in = NULL;
    if (!viewing)
        return;
    pthread_mutex_lock(&viewing->viewer->lock);
    bool last = --viewing->n_references == 0;
    pthread_mutex_unlock(&viewing->viewer->lock);
    if (!last)
        return;
    for (size_t i = 0; i < viewing->n_opened; i++)
        glint_picture_close(&viewing->pictures[i]);
    glint_free(viewing->pictures);
    drop_sources(viewing);
    if (viewing->outbox)
        glint_outbox_release(viewing->outbox);
    glint_free(viewing);
}

static size_t source_bytes(const struct glint_viewing *viewing) {
    size_t n = 0;
    for (size_t i = 0; i < viewing->n; i++)
        n += viewing->sources[i].data.n;
    return n;
}

// ---- loading ----------------------------------------------------------------------------------

// Loading is over: err NULL when it went well. Lets go of the line's reference.
static void end_loading(struct glint_viewer *viewer, struct glint_viewing *viewing,
                        const struct glint_error *err) {
    size_t n_bytes = source_bytes(viewing);
    struct glint_outbox *outbox = viewing->outbox;
    drop_sources(viewing);
    pthread_mutex_lock(&viewer->lock);
    viewer->n_loading--;
    viewer->n_bytes -= n_bytes;
    viewing->outbox = NULL; // the exchange, once woken, may give it another
    viewing->stage = err ? STAGE_FAILED : STAGE_LOADED;
    if (err)
        viewing->error = *err;
    pthread_mutex_unlock(&viewer->lock);
    glint_outbox_finish(outbox);
    glint_viewing_release(&viewing);
}

static enum glint_status fetch_all(struct glint_viewer *viewer, struct glint_viewing *viewing,
                                   struct glint_error *err) {
    for (size_t i = 0; i < viewing->n; i++) {
        struct source *source = &viewing->sources[i];
        const struct glint_remote_request request = {
            .url = source->url,
            .name = source->path,
            .is_allowed = viewer->params.fetch_private ? NULL : glint_address_is_public,
            .cancel = is_given_up,
            .user = viewing};
        if (!source->url)
            continue;
        enum glint_status status = glint_remote_fetch(&source->data, &request, err);
        pthread_mutex_lock(&viewer->lock);
        viewer->n_bytes += source->data.n;
        pthread_mutex_unlock(&viewer->lock);
        GLINT_TRY(status);
        if (source_bytes(viewing) > viewer->params.max_request_bytes)
            return glint_fail(err, GLINT_E_LIMIT,
                              "%s: the pictures up to this one are over the limit of %zu bytes "
                              "(--max-body)",
                              source->path, viewer->params.max_request_bytes);
    }
    return GLINT_OK;
}

static void fetch(struct glint_viewer *viewer, struct glint_viewing *viewing) {
    struct glint_error error = {.status = GLINT_OK};
    enum glint_status status = fetch_all(viewer, viewing, &error);
    pthread_mutex_lock(&viewer->lock);
    if (status == GLINT_OK && viewer->stop) // nobody may be there to decode any more
        status = glint_fail(&error, GLINT_E_CANCELLED, "the server is stopping");
    if (status == GLINT_OK)
        stand_in(viewer, viewing->has_video ? LINE_VIDEO : LINE_DECODE, viewing);
    pthread_mutex_unlock(&viewer->lock);
    if (status != GLINT_OK)
        end_loading(viewer, viewing, &error);
}

static enum glint_status open_video(struct glint_viewer *viewer, struct glint_viewing *viewing,
                                    struct glint_picture_source *source,
                                    struct glint_picture **picture, struct glint_error *err) {
    const struct glint_video_reader *reader = viewer->params.video;
    void *video;
    if (!reader)
        return glint_fail(err, GLINT_E_UNSUPPORTED, "%s: this server reads no videos",
                          source->name);
    GLINT_TRY(reader->open(&video, source, is_given_up, viewing, err));
    source->data = NULL;
    enum glint_status status = glint_picture_open(picture, viewer->vision, source, err);
    reader->close(video);
    return status;
}

static enum glint_status decode_one(struct glint_viewer *viewer, struct glint_viewing *viewing,
                                    struct glint_error *err) {
    struct source *from = &viewing->sources[viewing->n_opened];
    struct glint_picture_source source = {.name = from->path,
                                          .data = from->data.data ? from->data.data : "",
                                          .n = from->data.n,
                                          .max_tokens = from->max_tokens,
                                          .summed_kernel = viewer->params.video_summed,
                                          .realm = viewing->realm};
    struct glint_picture **picture = &viewing->pictures[viewing->n_opened];
    if (from->is_video)
        GLINT_TRY(open_video(viewer, viewing, &source, picture, err));
    else
        GLINT_TRY(glint_picture_open(picture, viewer->vision, &source, err));
    viewing->n_opened++;
    viewing->n_tokens += glint_picture_info(*picture).n_tokens;
    if (viewing->n_tokens < viewer->n_context)
        return GLINT_OK;
    viewing->over_context = true;
    return glint_fail(err, GLINT_E_LIMIT,
                      "%s: the pictures up to this one take %d tokens, which is over the context "
                      "length of %d tokens; send fewer, or set image_max_tokens",
                      from->path, viewing->n_tokens, viewer->n_context);
}

static void decode(struct glint_viewer *viewer, struct glint_viewing *viewing) {
    struct glint_error error = {.status = GLINT_OK};
    enum glint_status status = GLINT_OK;
    while (status == GLINT_OK && viewing->n_opened < viewing->n) {
        if (is_given_up(viewing))
            status = glint_fail(&error, GLINT_E_CANCELLED, "the server is stopping");
        else
            status = decode_one(viewer, viewing, &error);
    }
    end_loading(viewer, viewing, status == GLINT_OK ? NULL : &error);
}

// ---- looking ----------------------------------------------------------------------------------

// Between two pieces of the tower's work.
static bool pause_tower(void *user) {
    struct glint_viewer *viewer = user;
    glint_relay_share(&viewer->relay);
    return is_given_up(viewer->looking);
}

// Looking is over; lets go of the line's reference.
static void end_looking(struct glint_viewer *viewer, struct glint_viewing *viewing,
                        const struct glint_error *err) {
    pthread_mutex_lock(&viewer->lock);
    viewing->seen_ms = glint_clock_ms();
    viewing->stage = err ? STAGE_FAILED : STAGE_SEEN;
    if (err)
        viewing->error = *err;
    pthread_mutex_unlock(&viewer->lock);
    glint_viewing_release(&viewing);
    viewer->params.seen(viewer->params.user);
}

static struct glint_picture *next_unseen(const struct glint_viewing *viewing) {
    for (size_t i = 0; i < viewing->n; i++)
        if (!glint_picture_is_known(viewing->pictures[i]))
            return viewing->pictures[i];
    return NULL;
}

// One picture, and to the end of the line again if there are more.
static void look(struct glint_viewer *viewer, struct glint_viewing *viewing) {
    static const struct glint_picture_stages none = {.pixels = NULL};
    struct glint_error error = {.status = GLINT_OK};
    struct glint_picture *picture = next_unseen(viewing);
    enum glint_status status = GLINT_OK;
    if (is_given_up(viewing)) {
        status = glint_fail(&error, GLINT_E_CANCELLED, "the server is stopping");
    } else if (picture) {
        viewer->looking = viewing;
        glint_relay_take(&viewer->relay);
        double began = glint_clock_ms();
        status = glint_picture_look(picture, &none, &error);
        glint_relay_give(&viewer->relay);
        if (status == GLINT_OK)
            glint_metrics_picture(viewer->params.metrics, glint_picture_info(picture).n_tokens,
                                  glint_clock_ms() - began);
    }
    if (status != GLINT_OK || !next_unseen(viewing)) {
        end_looking(viewer, viewing, status == GLINT_OK ? NULL : &error);
        return;
    }
    pthread_mutex_lock(&viewer->lock);
    stand_in(viewer, LINE_LOOK, viewing);
    pthread_mutex_unlock(&viewer->lock);
}

void glint_viewing_look(struct glint_viewing *viewing, struct glint_outbox *outbox) {
    struct glint_viewer *viewer = viewing->viewer;
    int n_known = 0;
    for (size_t i = 0; i < viewing->n; i++)
        n_known += glint_picture_is_known(viewing->pictures[i]);
    glint_metrics_count(viewer->params.metrics, GLINT_COUNT_PICTURE_HITS, (uint64_t)n_known);
    glint_outbox_retain(outbox);
    pthread_mutex_lock(&viewer->lock);
    viewing->outbox = outbox;
    viewing->asked_ms = viewing->seen_ms = glint_clock_ms();
    if (viewer->stop) {
        viewing->stage = STAGE_FAILED;
        glint_fail(&viewing->error, GLINT_E_CANCELLED, "the server is stopping");
    } else if (n_known == (int)viewing->n) {
        viewing->stage = STAGE_SEEN;
    } else {
        viewing->stage = STAGE_LOOKING;
        viewing->n_references++;
        stand_in(viewer, LINE_LOOK, viewing);
    }
    bool over = viewing->stage != STAGE_LOOKING;
    pthread_mutex_unlock(&viewer->lock);
    if (over) // the engine may have found it waiting
        viewer->params.seen(viewer->params.user);
}

enum glint_viewing_state glint_viewing_state(const struct glint_viewing *viewing,
                                             struct glint_error *err) {
    pthread_mutex_lock(&viewing->viewer->lock);
    enum stage stage = viewing->stage;
    if (stage == STAGE_FAILED && err)
        *err = viewing->error;
    pthread_mutex_unlock(&viewing->viewer->lock);
    return stage == STAGE_SEEN     ? GLINT_VIEWING_SEEN
           : stage == STAGE_FAILED ? GLINT_VIEWING_FAILED
                                   : GLINT_VIEWING_WAITS;
}

double glint_viewing_ms(const struct glint_viewing *viewing) {
    pthread_mutex_lock(&viewing->viewer->lock);
    double ms = viewing->seen_ms - viewing->asked_ms;
    pthread_mutex_unlock(&viewing->viewer->lock);
    return ms;
}

struct glint_picture *const *glint_viewing_pictures(const struct glint_viewing *viewing, size_t *n,
                                                    struct glint_api_error *error) {
    pthread_mutex_lock(&viewing->viewer->lock);
    bool failed = viewing->stage == STAGE_FAILED;
    pthread_mutex_unlock(&viewing->viewer->lock);
    *n = viewing->n;
    if (!failed)
        return viewing->pictures;
    glint_api_fail_from(error, &viewing->error);
    if (viewing->error.status == GLINT_E_CANCELLED)
        error->status = 503;
    if (viewing->over_context) {
        error->code = "context_length_exceeded";
        error->n_prompt = viewing->n_tokens;
        error->n_context = viewing->viewer->n_context;
    }
    return NULL;
}

int glint_viewing_tokens(const struct glint_viewing *viewing) {
    return viewing->n_tokens;
}

// ---- a request --------------------------------------------------------------------------------

static enum glint_status read_url(const struct glint_viewer *viewer, struct source *source,
                                  struct glint_view url, struct glint_error *err) {
    struct glint_view text;
    if (glint_data_url_split(url, &text))
        return glint_base64_read(&source->data, text, source->path, err);
    if (!glint_url_has_scheme(url, "http://") && !glint_url_has_scheme(url, "https://"))
        return glint_fail(err, GLINT_E_ARG,
                          "%s: found \"%.*s\", expected a data URL such as "
                          "data:image/png;base64,...",
                          source->path, (int)(url.n < 40 ? url.n : 40), url.data);
    if (!viewer->params.fetch)
        return glint_fail(err, GLINT_E_ARG,
                          "%s: this server does not fetch addresses (--allow-remote-images); send "
                          "the data in a data URL",
                          source->path);
    if (url.n > 2000 || memchr(url.data, 0, url.n))
        return glint_fail(err, GLINT_E_ARG, "%s: an address of %zu bytes, expected at most 2000",
                          source->path, url.n);
    source->url = glint_strndup(url.data, url.n);
    return source->url ? GLINT_OK : glint_fail(err, GLINT_E_NOMEM, "%s: no memory", source->path);
}

static int limit_of(const struct glint_viewer *viewer, const struct glint_viewing_request *request,
                    const struct glint_media_item *item) {
    int most = request->max_tokens ? request->max_tokens : viewer->params.max_tokens;
    if (item->low_detail && !item->is_video && (most == 0 || most > LOW_DETAIL_TOKENS))
        most = LOW_DETAIL_TOKENS;
    return most;
}

static enum glint_status read_sources(struct glint_viewing *viewing,
                                      const struct glint_viewing_request *request,
                                      struct glint_error *err) {
    size_t n = request->media->n;
    viewing->sources = glint_alloc(n, sizeof *viewing->sources);
    viewing->pictures = glint_alloc(n, sizeof(struct glint_picture *));
    if (!viewing->sources || !viewing->pictures)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for the request");
    viewing->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct glint_media_item *item = &request->media->items[i];
        struct source *source = &viewing->sources[i];
        source->is_video = item->is_video;
        viewing->has_video = viewing->has_video || item->is_video;
        source->max_tokens = limit_of(viewing->viewer, request, item);
        snprintf(source->path, sizeof source->path, "%s", item->path);
        if (item->is_base64)
            GLINT_TRY(glint_base64_read(&source->data, item->source, source->path, err));
        else
            GLINT_TRY(read_url(viewing->viewer, source, item->source, err));
        if (!source->url && source->data.n == 0)
            return glint_fail(err, GLINT_E_FORMAT, "%s: the %s is empty: expected base64 of a file",
                              source->path, item->is_video ? "video" : "picture");
    }
    return GLINT_OK;
}

// Into the first line that it needs.
static enum glint_status submit(struct glint_viewer *viewer, struct glint_viewing *viewing,
                                struct glint_error *err) {
    enum glint_status status = GLINT_OK;
    bool remote = false;
    size_t n_bytes = source_bytes(viewing);
    for (size_t i = 0; i < viewing->n; i++)
        remote = remote || viewing->sources[i].url;
    pthread_mutex_lock(&viewer->lock);
    if (viewer->stop) {
        status = glint_fail(err, GLINT_E_CANCELLED, "the server is stopping");
    } else if (viewer->n_loading > viewer->params.n_queue ||
               (viewer->n_loading > 0 && viewer->n_bytes + n_bytes > viewer->params.max_bytes)) {
        status = glint_fail(err, GLINT_E_BUSY,
                            "the pictures of %d requests wait, the server's limit; try again in a "
                            "moment",
                            viewer->n_loading);
    } else {
        viewer->n_loading++;
        viewer->n_bytes += n_bytes;
        viewing->n_references++;
        stand_in(viewer,
                 remote               ? LINE_FETCH
                 : viewing->has_video ? LINE_VIDEO
                                      : LINE_DECODE,
                 viewing);
    }
    pthread_mutex_unlock(&viewer->lock);
    return status;
}

bool glint_viewer_begin(struct glint_viewer *viewer, const struct glint_viewing_request *request,
                        struct glint_viewing **out, struct glint_api_error *error) {
    struct glint_error failure = {.status = GLINT_OK};
    const char *path = request->media->items[0].path;
    *out = NULL;
    if (!viewer->vision) {
        glint_api_fail(error, 400, path,
                       "%s: this server has no vision file to look at it with; start it with "
                       "--mmproj FILE",
                       path);
        return false;
    }
    struct glint_viewing *viewing = glint_alloc(1, sizeof *viewing);
    if (!viewing) {
        glint_api_fail(error, 500, NULL, "no memory for the request");
        return false;
    }
    viewing->viewer = viewer;
    viewing->outbox = request->outbox;
    viewing->realm = viewer->salt + request->tenant;
    viewing->n_references = 1;
    enum glint_status status = read_sources(viewing, request, &failure);
    if (status == GLINT_OK)
        status = submit(viewer, viewing, &failure);
    if (status != GLINT_OK) {
        viewing->outbox = NULL;
        glint_viewing_release(&viewing);
        glint_api_fail_from(error, &failure);
        if (status == GLINT_E_CANCELLED)
            error->status = 503;
    }
    *out = viewing;
    return status == GLINT_OK;
}

// ---- the viewer -------------------------------------------------------------------------------

static bool start_thread(struct glint_viewer *viewer, enum line_kind kind) {
    pthread_t *thread = &viewer->threads[viewer->n_threads];
    if (pthread_create(thread, NULL, run_line, &viewer->lines[kind]) != 0)
        return false;
    viewer->n_threads++;
    return true;
}

enum glint_status glint_viewer_open(struct glint_viewer **out,
                                    const struct glint_viewer_params *params,
                                    struct glint_error *err) {
    static void (*const serve[N_LINES])(struct glint_viewer *,
                                        struct glint_viewing *) = {fetch, decode, decode, look};
    *out = NULL;
    if (params->fetch)
        GLINT_TRY(glint_remote_init(err));
    struct glint_viewer *viewer = glint_alloc(1, sizeof *viewer);
    if (!viewer)
        return glint_fail(err, GLINT_E_NOMEM, "server: no memory");
    viewer->params = *params;
    viewer->salt = glint_random_u64();
    glint_relay_init(&viewer->relay);
    pthread_mutex_init(&viewer->lock, NULL);
    for (int i = 0; i < N_LINES; i++) {
        viewer->lines[i] = (struct line){.serve = serve[i], .viewer = viewer};
        pthread_cond_init(&viewer->lines[i].wake, NULL);
    }
    bool started = true;
    if (params->vision.path)
        started = start_thread(viewer, LINE_DECODE) && start_thread(viewer, LINE_VIDEO) &&
                  start_thread(viewer, LINE_LOOK);
    for (int i = 0; params->vision.path && params->fetch && i < N_FETCHERS; i++)
        started = started && start_thread(viewer, LINE_FETCH);
    if (!started) {
        glint_viewer_close(&viewer);
        return glint_fail(err, GLINT_E_NOMEM, "server: a thread cannot be started");
    }
    *out = viewer;
    return GLINT_OK;
}

enum glint_status glint_viewer_load(struct glint_viewer *viewer, const struct glint_engine *engine,
                                    struct glint_error *err) {
    struct glint_vision_params params = viewer->params.vision;
    struct glint_engine_info model = glint_engine_info(engine);
    viewer->n_context = model.n_context;
    if (!params.path)
        return GLINT_OK;
    params.progress = NULL;
    params.cancel = pause_tower;
    params.user = viewer;
    GLINT_TRY(glint_vision_open(&viewer->vision, &params, err));
    int width = glint_vision_info(viewer->vision).width;
    return width == model.width
               ? GLINT_OK
               : glint_fail(err, GLINT_E_ARG,
                            "%s: found rows of width %d, expected %d as the model %s has (a vision "
                            "file of another model?)",
                            params.path, width, model.width, model.model_path);
}

bool glint_viewer_can_see(const struct glint_viewer *viewer) {
    return viewer->vision;
}

struct glint_relay *glint_viewer_relay(struct glint_viewer *viewer) {
    return &viewer->relay;
}

void glint_viewer_stop(struct glint_viewer *viewer) {
    if (!viewer)
        return;
    pthread_mutex_lock(&viewer->lock);
    viewer->stop = true;
    for (int i = 0; i < N_LINES; i++)
        pthread_cond_broadcast(&viewer->lines[i].wake);
    pthread_mutex_unlock(&viewer->lock);
    while (viewer->n_threads > 0)
        pthread_join(viewer->threads[--viewer->n_threads], NULL);
}

void glint_viewer_close(struct glint_viewer **viewer_in) {
    struct glint_viewer *viewer = *viewer_in;
    *viewer_in = NULL;
    if (!viewer)
        return;
    glint_viewer_stop(viewer);
    glint_vision_close(&viewer->vision);
    for (int i = 0; i < N_LINES; i++)
        pthread_cond_destroy(&viewer->lines[i].wake);
    pthread_mutex_destroy(&viewer->lock);
    glint_relay_fini(&viewer->relay);
    glint_free(viewer);
}
