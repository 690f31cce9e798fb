// SPDX-License-Identifier: Apache-2.0
// picture.c — vision files and pictures. A vision keeps the last pictures it has looked at, pixels
// and rows, so that the same picture in a later turn costs nothing. A picture is known by the hash
// of its pixels at the model's size, and before it is decoded by that of its file; both are keyed
// by the realm, which whoever serves strangers keeps secret.
// Invariant: what is below `lock` is touched under it; a look with users is never dropped, and but
// for its rows, which come once, it never changes.
#include "engine/picture.h"

#include "base/alloc.h"
#include "base/available_memory.h"
#include "base/siphash.h"
#include "engine/engine.h"
#include "format/gguf.h"
#include "model/bind.h"
#include "vision/picture_file.h"
#include "vision/resample.h"
#include "vision/size_rule.h"
#include "vision/tower.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    KEPT_BYTES = 256 << 20, // of pictures that nobody holds, unless the caller says otherwise
};

#define PERCEPTION_EPSILON 1e-5 // of the norm behind the projector, in no file

// A picture or a video at the model's size, and its rows once they are known.
struct look {
    struct look *next;
    uint64_t identity; // hash of the pixels, odd
    uint64_t file;     // hash of the file it was last made from, with the limit; 0: of none
    int width, height; // of that file's picture
    int n_user;
    int n_frame;          // 1: a still picture; else even, two frames a group
    struct glint_rgb rgb; // data [n_frame, height, width, 3]
    float *rows;          // [n_tokens, n_text] or NULL
};

struct glint_vision {
    struct glint_vision_params params; // strings borrowed until open returns
    struct glint_gguf *gguf;
    struct glint_backend *backend;
    struct glint_vision_model model;
    pthread_mutex_t lock;
    struct look *looks; // most recently opened first
};

struct glint_picture {
    struct glint_vision *vision;
    struct look *look;
    int width, height; // of the source
    double *seconds;   // [n_group] of a video
};

// ---- the vision file ------------------------------------------------------------------------

static enum glint_status open_parts(struct glint_vision *vision, struct glint_error *err) {
    struct glint_vision_config config;
    const struct glint_vision_params *params = &vision->params;
    const struct glint_engine_params engine = {
        .device = params->device, .cpu_tier = params->cpu_tier, .n_threads = params->n_threads};
    GLINT_TRY(glint_gguf_open(&vision->gguf, params->path, err));
    GLINT_TRY(glint_vision_config_read(&config, vision->gguf, err));
    uint64_t weights = vision->gguf->n_tensor_bytes, available = glint_available_memory(weights);
    if (available > 0 && weights > available && !params->no_memory_check)
        return glint_fail(err, GLINT_E_NOMEM,
                          "%s: does not fit in memory: weights of %llu MB, %llu MB are free; close "
                          "other programs, or take a smaller file",
                          params->path, (unsigned long long)(weights >> 20),
                          (unsigned long long)(available >> 20));
    struct glint_backend_limits limits = glint_tower_limits(&config);
    GLINT_TRY(glint_backend_open(&vision->backend, &engine, &limits, err));
    return glint_vision_model_open(&vision->model, &config, vision->gguf, vision->backend, err);
}

enum glint_status glint_vision_open(struct glint_vision **out,
                                    const struct glint_vision_params *params,
                                    struct glint_error *err) {
    GLINT_REQUIRE(out && params && params->path, err);
    *out = NULL;
    struct glint_vision *vision = glint_alloc(1, sizeof *vision);
    if (!vision)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", params->path);
    vision->params = *params;
    pthread_mutex_init(&vision->lock, NULL);
    enum glint_status status = open_parts(vision, err);
    if (status != GLINT_OK)
        glint_vision_close(&vision);
    *out = vision;
    return status;
}

static void drop_look(struct look **link) {
    struct look *look = *link;
    *link = look->next;
    glint_free(look->rgb.data);
    glint_free(look->rows);
    glint_free(look);
}

void glint_vision_close(struct glint_vision **vision_in) {
    struct glint_vision *vision = *vision_in;
    *vision_in = NULL;
    if (!vision)
        return;
    while (vision->looks)
        drop_look(&vision->looks);
    glint_vision_model_close(&vision->model);
    if (vision->backend)
        vision->backend->close(vision->backend);
    glint_gguf_close(&vision->gguf);
    pthread_mutex_destroy(&vision->lock);
    glint_free(vision);
}

struct glint_vision_info glint_vision_info(const struct glint_vision *vision) {
    return (struct glint_vision_info){.path = vision->gguf->path,
                                      .width = vision->model.config.n_text,
                                      .tower = vision->model.config.width,
                                      .patch = vision->model.config.patch,
                                      .frames = vision->model.config.frames,
                                      .weight_bytes = vision->model.weight_bytes};
}

// ---- pictures -------------------------------------------------------------------------------

static int groups_of(const struct look *look) {
    return look->n_frame == 1 ? 1 : look->n_frame / 2;
}

static int group_tokens(const struct glint_vision *vision, const struct look *look) {
    int unit = vision->model.config.patch * GLINT_VISION_MERGE;
    return look->rgb.height / unit * (look->rgb.width / unit);
}

static int tokens_of(const struct glint_vision *vision, const struct look *look) {
    return groups_of(look) * group_tokens(vision, look);
}

static size_t frame_bytes(const struct glint_rgb *rgb) {
    return (size_t)rgb->height * (size_t)rgb->width * 3;
}

static size_t look_bytes(const struct glint_vision *vision, const struct look *look) {
    size_t rows = (size_t)tokens_of(vision, look) * (size_t)vision->model.config.n_text;
    return (size_t)look->n_frame * frame_bytes(&look->rgb) +
           (look->rows ? rows * sizeof(float) : 0);
}

// Forgets the pictures that were opened longest ago while nobody holds them and they take more
// than what may be kept.
static void trim_looks(struct glint_vision *vision) {
    size_t kept = 0, most = vision->params.kept_bytes ? vision->params.kept_bytes : KEPT_BYTES;
    for (struct look **link = &vision->looks; *link;) {
        struct look *look = *link;
        kept += look->n_user ? 0 : look_bytes(vision, look);
        if (!look->n_user && kept > most)
            drop_look(link);
        else
            link = &look->next;
    }
}

// Moves the look that a link points to to the front.
static struct look *pull(struct glint_vision *vision, struct look **link) {
    struct look *look = *link;
    *link = look->next;
    look->next = vision->looks;
    vision->looks = look;
    return look;
}

// The known picture that was made from this file, held for the caller; NULL when there is none.
static struct look *find_file(struct glint_vision *vision, uint64_t file) {
    struct look *look = NULL;
    pthread_mutex_lock(&vision->lock);
    for (struct look **link = &vision->looks; *link && !look; link = &(*link)->next)
        if (file != 0 && (*link)->file == file) {
            look = pull(vision, link);
            look->n_user++;
            break;
        }
    pthread_mutex_unlock(&vision->lock);
    return look;
}

// The same with these pixels, also byte for byte.
static struct look *find_pixels(struct glint_vision *vision, const struct look *wanted) {
    size_t n = (size_t)wanted->n_frame * frame_bytes(&wanted->rgb);
    for (struct look **link = &vision->looks; *link; link = &(*link)->next) {
        struct look *look = *link;
        if (look->identity == wanted->identity && look->n_frame == wanted->n_frame &&
            look->rgb.height == wanted->rgb.height && look->rgb.width == wanted->rgb.width &&
            memcmp(look->rgb.data, wanted->rgb.data, n) == 0)
            return pull(vision, link);
    }
    return NULL;
}

static uint64_t hash_pixels(const struct look *look, uint64_t realm) {
    struct glint_siphash hash;
    const int32_t size[3] = {look->n_frame, look->rgb.height, look->rgb.width};
    glint_siphash_init(&hash, realm, 0);
    glint_siphash_add(&hash, size, sizeof size);
    glint_siphash_add(&hash, look->rgb.data, (size_t)look->n_frame * frame_bytes(&look->rgb));
    return glint_siphash_end(&hash) | 1;
}

// Takes made->rgb.data, also on failure. The look is held for the caller; NULL: no memory.
static struct look *keep_look(struct glint_vision *vision, const struct look *made) {
    pthread_mutex_lock(&vision->lock);
    struct look *look = find_pixels(vision, made);
    if (look) {
        glint_free(made->rgb.data);
        look->file = made->file ? made->file : look->file;
        look->width = made->width;
        look->height = made->height;
    } else if ((look = glint_alloc(1, sizeof *look))) {
        *look = *made;
        look->next = vision->looks;
        vision->looks = look;
    } else {
        glint_free(made->rgb.data);
    }
    if (look)
        look->n_user++;
    trim_looks(vision);
    pthread_mutex_unlock(&vision->lock);
    return look;
}

static void let_go(struct glint_vision *vision, struct look *look) {
    pthread_mutex_lock(&vision->lock);
    look->n_user--;
    trim_looks(vision);
    pthread_mutex_unlock(&vision->lock);
}

static enum glint_status size_of(const struct glint_vision *vision, const struct glint_rgb *in,
                                 int max_tokens, const char *name, struct glint_rgb *out,
                                 struct glint_error *err) {
    int unit = vision->model.config.patch * GLINT_VISION_MERGE;
    struct glint_token_grid grid = glint_token_grid_of(in->height, in->width, unit, max_tokens);
    int64_t hard = 2 * (int64_t)max_tokens;
    if (grid.rows * grid.cols > hard || hard > GLINT_VISION_HARD_TOKENS)
        return glint_fail(err, GLINT_E_LIMIT,
                          "%s: a picture of %d x %d would take %lld tokens, expected at most %lld",
                          name, in->width, in->height, (long long)(grid.rows * grid.cols),
                          (long long)hard);
    *out = (struct glint_rgb){.height = (int)grid.rows * unit, .width = (int)grid.cols * unit};
    return GLINT_OK;
}

static const char *name_of(const struct glint_picture_source *source) {
    return source->name ? source->name : "picture";
}

// Frames that are kept of a source: a video's last one is repeated to make pairs.
static int frames_of(const struct glint_picture_source *source) {
    return source->n_frames > 0 ? (source->n_frames + 1) / 2 * 2 : 1;
}

// The frames of a video one by one; the last one may have to serve twice.
static enum glint_status resize_frames(const struct glint_picture_source *source,
                                       const struct glint_rgb *out, struct glint_error *err) {
    for (int i = 0; i < frames_of(source); i++) {
        struct glint_rgb from = {NULL, source->height, source->width}, to = *out;
        const uint8_t *pixels = NULL;
        to.data += (size_t)i * frame_bytes(out);
        if (i < source->n_frames)
            pixels = source->frame(source->user, i);
        else
            memcpy(to.data, to.data - frame_bytes(out), frame_bytes(out));
        if (i < source->n_frames && !pixels)
            return glint_fail(err, GLINT_E_FORMAT, "%s: frame %d of %d cannot be read",
                              name_of(source), i + 1, source->n_frames);
        memcpy(&from.data, &pixels, sizeof from.data); // read only
        if (pixels)
            GLINT_TRY(glint_resample(&to, &from, err));
    }
    return GLINT_OK;
}

// The source's pixels at the model's size; in is the decoded picture, or a video's size.
static enum glint_status resize(const struct glint_vision *vision,
                                const struct glint_picture_source *source,
                                const struct glint_rgb *in, struct glint_rgb *out,
                                struct glint_error *err) {
    int most = source->n_frames > 0 ? GLINT_VISION_PAIR_TOKENS : GLINT_VISION_TOKENS;
    GLINT_TRY(size_of(vision, in, source->max_tokens > 0 ? source->max_tokens : most,
                      name_of(source), out, err));
    out->data = glint_alloc((size_t)frames_of(source), frame_bytes(out));
    if (!out->data)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name_of(source));
    enum glint_status status =
        source->n_frames > 0 ? resize_frames(source, out, err) : glint_resample(out, in, err);
    if (status != GLINT_OK)
        glint_free(out->data);
    return status;
}

static enum glint_status check_source(const struct glint_vision *vision,
                                      const struct glint_picture_source *source,
                                      struct glint_error *err) {
    const char *name = name_of(source);
    if (source->max_tokens < 0 || source->max_tokens > GLINT_VISION_TOKENS)
        return glint_fail(err, GLINT_E_ARG, "%s: at most %d tokens asked for, expected 1 to %d",
                          name, source->max_tokens, GLINT_VISION_TOKENS);
    bool plain = source->rgb || source->n_frames != 0;
    GLINT_REQUIRE(plain ? source->width > 0 && source->height > 0 : source->data != NULL, err);
    if (source->n_frames == 0)
        return GLINT_OK;
    GLINT_REQUIRE(source->n_frames > 0 && source->n_frames <= GLINT_VIDEO_MAX_FRAMES, err);
    GLINT_REQUIRE(source->frame && source->seconds, err);
    if (!vision->model.config.frames && !source->summed_kernel)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: the vision file cannot tell two frames apart: it lacks the "
                          "tensor " GLINT_VISION_FRAMES_TENSOR ", which `glint convert` writes; "
                          "--video-summed looks at videos all the same, less exactly",
                          name); // a client sees this: the file's path is not for it
    return GLINT_OK;
}

// A handle on look; what it needs of the source is copied.
static struct glint_picture *make_picture(struct glint_vision *vision, struct look *look,
                                          const struct glint_picture_source *source) {
    struct glint_picture *picture = glint_alloc(1, sizeof *picture);
    size_t n_group = source->n_frames > 0 ? (size_t)groups_of(look) : 0;
    double *seconds = glint_alloc(n_group, sizeof *seconds);
    if (!picture || !seconds) {
        glint_free(picture);
        glint_free(seconds);
        return NULL;
    }
    for (size_t g = 0; g < n_group; g++)
        seconds[g] = source->seconds[2 * g];
    *picture = (struct glint_picture){.vision = vision,
                                      .look = look,
                                      .width = source->width,
                                      .height = source->height,
                                      .seconds = seconds};
    if (!source->rgb && source->n_frames == 0) {
        pthread_mutex_lock(&vision->lock); // another file may give the same picture
        picture->width = look->width;
        picture->height = look->height;
        pthread_mutex_unlock(&vision->lock);
    }
    return picture;
}

// Hash of a picture's file and of what else decides about its pixels; 0 for other sources.
static uint64_t hash_file(const struct glint_picture_source *source) {
    struct glint_siphash hash;
    if (source->rgb || source->n_frames != 0)
        return 0;
    glint_siphash_init(&hash, source->realm, 1);
    glint_siphash_add(&hash, &source->max_tokens, sizeof source->max_tokens);
    glint_siphash_add(&hash, source->data, source->n);
    return glint_siphash_end(&hash) | 1;
}

// Decodes and resizes; the look of the result is held for the caller.
static enum glint_status make_look(struct glint_vision *vision,
                                   const struct glint_picture_source *source, uint64_t file_hash,
                                   struct look **out, struct glint_error *err) {
    struct glint_rgb in = {NULL, source->height, source->width};
    const struct glint_picture_file file = {source->data, source->n, name_of(source)};
    if (!source->rgb && source->n_frames == 0)
        GLINT_TRY(glint_picture_decode(&in, &file, err));
    struct look made = {
        .file = file_hash, .width = in.width, .height = in.height, .n_frame = frames_of(source)};
    struct glint_rgb pixels = in;
    if (source->rgb)
        memcpy(&pixels.data, &source->rgb, sizeof pixels.data); // read only
    enum glint_status status = resize(vision, source, &pixels, &made.rgb, err);
    glint_free(in.data);
    if (status != GLINT_OK)
        return status;
    made.identity = hash_pixels(&made, source->realm);
    *out = keep_look(vision, &made);
    return *out ? GLINT_OK : glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name_of(source));
}

enum glint_status glint_picture_open(struct glint_picture **out, struct glint_vision *vision,
                                     const struct glint_picture_source *source,
                                     struct glint_error *err) {
    *out = NULL;
    GLINT_TRY(check_source(vision, source, err));
    uint64_t file = hash_file(source);
    struct look *look = find_file(vision, file);
    if (!look)
        GLINT_TRY(make_look(vision, source, file, &look, err));
    *out = make_picture(vision, look, source);
    if (*out)
        return GLINT_OK;
    let_go(vision, look);
    return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name_of(source));
}

void glint_picture_close(struct glint_picture **picture_in) {
    struct glint_picture *picture = *picture_in;
    *picture_in = NULL;
    if (!picture)
        return;
    let_go(picture->vision, picture->look);
    glint_free(picture->seconds);
    glint_free(picture);
}

struct glint_picture_info glint_picture_info(const struct glint_picture *picture) {
    int patch = picture->vision->model.config.patch;
    const struct glint_rgb *rgb = &picture->look->rgb;
    return (struct glint_picture_info){.width = picture->width,
                                       .height = picture->height,
                                       .rows = rgb->height / patch,
                                       .cols = rgb->width / patch,
                                       .n_groups = picture->look->n_frame / 2,
                                       .n_tokens = tokens_of(picture->vision, picture->look),
                                       .rgb = rgb->data};
}

int glint_picture_width(const struct glint_picture *picture) {
    return picture->vision->model.config.n_text;
}

double glint_picture_seconds(const struct glint_picture *picture, int i_group) {
    return picture->seconds[i_group];
}

uint64_t glint_picture_identity(const struct glint_picture *picture) {
    return picture->look->identity;
}

// ---- looking --------------------------------------------------------------------------------

// Which part of the work the tower is at.
struct part {
    const struct glint_vision_params *params;
    int i_group, n_group;
};

static bool report(void *user, int64_t done, int64_t total) {
    const struct part *part = user;
    const struct glint_vision_params *params = part->params;
    if (params->progress)
        params->progress(params->user,
                         (int)((part->i_group * total + done) * 1000 / (part->n_group * total)));
    return params->cancel && params->cancel(params->user);
}

// The tower's work on one group of frames.
static struct glint_tower_job job_of(const struct glint_picture *picture, int i_group) {
    const struct glint_vision *vision = picture->vision;
    const struct look *look = picture->look;
    const struct glint_rgb *rgb = &look->rgb;
    const uint8_t *first = rgb->data + (size_t)i_group * 2 * frame_bytes(rgb);
    return (struct glint_tower_job){.model = &vision->model,
                                    .rgb = first,
                                    .next = look->n_frame == 1 ? NULL : first + frame_bytes(rgb),
                                    .height = rgb->height,
                                    .width = rgb->width,
                                    .exact = vision->params.exact_activations,
                                    .step = report};
}

static enum glint_status check_finite(const struct glint_vision *vision, const float *rows,
                                      size_t n, struct glint_error *err) {
    for (size_t i = 0; i < n; i++) {
        if (isfinite(rows[i]))
            continue;
        GLINT_TRY(glint_bind_find_nonfinite(vision->gguf, err));
        return glint_fail(err, GLINT_E_INTERNAL,
                          "value %zu of a picture is %g, expected a finite number; every weight of "
                          "the vision file is finite",
                          i, (double)rows[i]);
    }
    return GLINT_OK;
}

// Runs the tower; `merged` may be NULL.
static enum glint_status look_at(struct glint_picture *picture, float *merged,
                                 struct glint_error *err) {
    struct glint_vision *vision = picture->vision;
    const struct glint_vision_config *config = &vision->model.config;
    size_t n_token = (size_t)tokens_of(vision, picture->look), width = (size_t)config->n_text;
    size_t of_group = (size_t)group_tokens(vision, picture->look);
    uint64_t need =
        glint_tower_bytes(config, (int64_t)of_group * GLINT_VISION_MERGE * GLINT_VISION_MERGE) +
        n_token * width * sizeof(float);
    uint64_t available = glint_available_memory(0);
    if (available > 0 && need > available && !vision->params.no_memory_check)
        return glint_fail(err, GLINT_E_NOMEM,
                          "a picture of %zu tokens takes %llu MB, %llu MB are free: close other "
                          "programs or lower --image-max-tokens",
                          n_token, (unsigned long long)(need >> 20),
                          (unsigned long long)(available >> 20));
    float *rows = glint_alloc(n_token, width * sizeof(float));
    if (!rows)
        return glint_fail(err, GLINT_E_NOMEM, "no memory for %zu tokens of a picture", n_token);
    enum glint_status status = GLINT_OK;
    struct part part = {&vision->params, 0, groups_of(picture->look)};
    for (; status == GLINT_OK && part.i_group < part.n_group; part.i_group++) {
        struct glint_tower_job job = job_of(picture, part.i_group);
        size_t at = (size_t)part.i_group * of_group, merged_width = 4 * (size_t)config->width;
        job.features = rows + at * width;
        job.merged = merged ? merged + at * merged_width : NULL;
        job.user = &part;
        status = glint_tower_run(&job, err);
    }
    if (status == GLINT_OK)
        status = check_finite(vision, rows, n_token * width, err);
    if (status != GLINT_OK) {
        glint_free(rows);
        return status;
    }
    pthread_mutex_lock(&vision->lock);
    bool known = picture->look->rows;
    if (!known)
        picture->look->rows = rows;
    pthread_mutex_unlock(&vision->lock);
    if (known) // the same, and others may be reading them
        glint_free(rows);
    return GLINT_OK;
}

static const float *known_rows(const struct glint_picture *picture) {
    pthread_mutex_lock(&picture->vision->lock);
    const float *rows = picture->look->rows;
    pthread_mutex_unlock(&picture->vision->lock);
    return rows;
}

bool glint_picture_is_known(const struct glint_picture *picture) {
    return known_rows(picture) != NULL;
}

enum glint_status glint_picture_rows(struct glint_picture *picture, const float **rows,
                                     struct glint_error *err) {
    if (!known_rows(picture))
        GLINT_TRY(look_at(picture, NULL, err));
    *rows = known_rows(picture);
    return GLINT_OK;
}

static void write_pixels(struct glint_picture *picture, float *out) {
    struct glint_picture_info info = glint_picture_info(picture);
    for (int g = 0; g < groups_of(picture->look); g++) {
        struct glint_tower_job job = job_of(picture, g);
        size_t n = 3 * (size_t)job.model->config.patch * (size_t)job.model->config.patch;
        for (int i = 0; i < info.rows * info.cols; i++)
            for (int frame = 0; frame < 2; frame++, out += n)
                glint_tower_patch(&job, frame, (struct glint_patch){i / info.cols, i % info.cols},
                                  out);
    }
}

enum glint_status glint_picture_look(struct glint_picture *picture,
                                     const struct glint_picture_stages *stages,
                                     struct glint_error *err) {
    const float *rows;
    if (stages->pixels)
        write_pixels(picture, stages->pixels);
    if (stages->tower)
        GLINT_TRY(look_at(picture, stages->tower, err));
    if (stages->features || !(stages->pixels || stages->tower))
        GLINT_TRY(glint_picture_rows(picture, &rows, err));
    if (!stages->features)
        return GLINT_OK;
    int n = tokens_of(picture->vision, picture->look), width = glint_picture_width(picture);
    for (int i = 0; i < n; i++) { // in prompts the decoder's entry norm does it
        const float *x = rows + (size_t)i * (size_t)width;
        double sum = 0;
        for (int c = 0; c < width; c++)
            sum += (double)x[c] * x[c];
        double inverse = 1 / sqrt(sum / width + PERCEPTION_EPSILON);
        for (int c = 0; c < width; c++)
            stages->features[(size_t)i * (size_t)width + (size_t)c] = (float)(x[c] * inverse);
    }
    return GLINT_OK;
}
