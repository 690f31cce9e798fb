// SPDX-License-Identifier: Apache-2.0
// picture.c — vision files and pictures. A vision keeps the last pictures it has looked at, pixels
// and rows, so that the same picture in a later turn costs nothing: equality is that of the
// resized pixels, byte for byte.
#include "engine/picture.h"

#include "base/alloc.h"
#include "base/available_memory.h"
#include "engine/engine.h"
#include "format/gguf.h"
#include "model/bind.h"
#include "vision/picture_file.h"
#include "vision/resample.h"
#include "vision/size_rule.h"
#include "vision/tower.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    KEPT_BYTES = 256 << 20, // of pictures that nobody holds
};

#define PERCEPTION_EPSILON 1e-5 // of the norm behind the projector, in no file

// A picture at the model's size, and its rows once they are known.
struct look {
    struct look *next;
    uint64_t identity;
    int n_user;
    struct glint_rgb rgb;
    float *rows; // [n_tokens, n_text] or NULL
};

struct glint_vision {
    struct glint_vision_params params; // strings borrowed until open returns
    struct glint_gguf *gguf;
    struct glint_backend *backend;
    struct glint_vision_model model;
    struct look *looks;  // most recently opened first
    uint64_t n_identity; // given so far
};

struct glint_picture {
    struct glint_vision *vision;
    struct look *look;
    int width, height; // of the source
};

// ---- the vision file ------------------------------------------------------------------------

static enum glint_status open_parts(struct glint_vision *vision, struct glint_error *err) {
    struct glint_vision_config config;
    const struct glint_vision_params *params = &vision->params;
    const struct glint_engine_params engine = {
        .device = params->device, .cpu_tier = params->cpu_tier, .n_threads = params->n_threads};
    GLINT_TRY(glint_gguf_open(&vision->gguf, params->path, err));
    GLINT_TRY(glint_vision_config_read(&config, vision->gguf, err));
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
    enum glint_status status = open_parts(vision, err);
    if (status != GLINT_OK)
        glint_vision_close(&vision);
    *out = vision;
    return status;
}

static void drop_look(struct glint_vision *vision, struct look **link) {
    struct look *look = *link;
    (void)vision;
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
        drop_look(vision, &vision->looks);
    glint_vision_model_close(&vision->model);
    if (vision->backend)
        vision->backend->close(vision->backend);
    glint_gguf_close(&vision->gguf);
    glint_free(vision);
}

struct glint_vision_info glint_vision_info(const struct glint_vision *vision) {
    return (struct glint_vision_info){.path = vision->gguf->path,
                                      .width = vision->model.config.n_text,
                                      .tower = vision->model.config.width,
                                      .patch = vision->model.config.patch,
                                      .weight_bytes = vision->model.weight_bytes};
}

// ---- pictures -------------------------------------------------------------------------------

static int tokens_of(const struct glint_vision *vision, const struct look *look) {
    int unit = vision->model.config.patch * GLINT_VISION_MERGE;
    return look->rgb.height / unit * (look->rgb.width / unit);
}

static size_t rgb_bytes(const struct glint_rgb *rgb) {
    return (size_t)rgb->height * (size_t)rgb->width * 3;
}

static size_t look_bytes(const struct glint_vision *vision, const struct look *look) {
    size_t rows = (size_t)tokens_of(vision, look) * (size_t)vision->model.config.n_text;
    return rgb_bytes(&look->rgb) + (look->rows ? rows * sizeof(float) : 0);
}

// Forgets the pictures that were opened longest ago while nobody holds them and they take more
// than KEPT_BYTES.
static void trim_looks(struct glint_vision *vision) {
    size_t kept = 0;
    for (struct look **link = &vision->looks; *link;) {
        struct look *look = *link;
        kept += look->n_user ? 0 : look_bytes(vision, look);
        if (!look->n_user && kept > KEPT_BYTES)
            drop_look(vision, link);
        else
            link = &look->next;
    }
}

// The known picture with these pixels, moved to the front; NULL when there is none.
static struct look *find_look(struct glint_vision *vision, const struct glint_rgb *rgb) {
    for (struct look **link = &vision->looks; *link; link = &(*link)->next) {
        struct look *look = *link;
        if (look->rgb.height == rgb->height && look->rgb.width == rgb->width &&
            memcmp(look->rgb.data, rgb->data, rgb_bytes(rgb)) == 0) {
            *link = look->next;
            look->next = vision->looks;
            vision->looks = look;
            return look;
        }
    }
    return NULL;
}

// Takes rgb->data, also on failure.
static struct look *make_look(struct glint_vision *vision, struct glint_rgb *rgb) {
    struct look *look = find_look(vision, rgb);
    if (!look) {
        look = glint_alloc(1, sizeof *look);
        if (look) {
            *look =
                (struct look){.next = vision->looks, .identity = ++vision->n_identity, .rgb = *rgb};
            vision->looks = look;
            rgb->data = NULL;
        }
    }
    glint_free(rgb->data);
    return look;
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

// The source's pixels at the model's size; in is the decoded source.
static enum glint_status resize(const struct glint_vision *vision,
                                const struct glint_picture_source *source,
                                const struct glint_rgb *in, struct glint_rgb *out,
                                struct glint_error *err) {
    const char *name = source->name ? source->name : "picture";
    int max_tokens = source->max_tokens > 0 ? source->max_tokens : GLINT_VISION_TOKENS;
    GLINT_TRY(size_of(vision, in, max_tokens, name, out, err));
    out->data = glint_alloc(rgb_bytes(out), 1);
    if (!out->data)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name);
    enum glint_status status = glint_resample(out, in, err);
    if (status != GLINT_OK)
        glint_free(out->data);
    return status;
}

enum glint_status glint_picture_open(struct glint_picture **out, struct glint_vision *vision,
                                     const struct glint_picture_source *source,
                                     struct glint_error *err) {
    const char *name = source->name ? source->name : "picture";
    *out = NULL;
    if (source->max_tokens < 0 || source->max_tokens > GLINT_VISION_TOKENS)
        return glint_fail(err, GLINT_E_ARG, "%s: at most %d tokens asked for, expected 1 to %d",
                          name, source->max_tokens, GLINT_VISION_TOKENS);
    GLINT_REQUIRE(source->rgb ? source->width > 0 && source->height > 0 : source->data != NULL,
                  err);
    struct glint_rgb in = {NULL, source->height, source->width}, sized = {NULL, 0, 0};
    struct glint_picture *picture = NULL;
    const struct glint_picture_file file = {source->data, source->n, name};
    if (!source->rgb)
        GLINT_TRY(glint_picture_decode(&in, &file, err));
    struct glint_rgb pixels = in;
    if (source->rgb)
        memcpy(&pixels.data, &source->rgb, sizeof pixels.data); // read only
    enum glint_status status = resize(vision, source, &pixels, &sized, err);
    glint_free(in.data);
    if (status != GLINT_OK)
        return status;
    struct look *look = make_look(vision, &sized);
    picture = look ? glint_alloc(1, sizeof *picture) : NULL;
    if (!picture)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name);
    look->n_user++;
    *picture = (struct glint_picture){vision, look, in.width, in.height};
    trim_looks(vision);
    *out = picture;
    return GLINT_OK;
}

void glint_picture_close(struct glint_picture **picture_in) {
    struct glint_picture *picture = *picture_in;
    *picture_in = NULL;
    if (!picture)
        return;
    picture->look->n_user--;
    trim_looks(picture->vision);
    glint_free(picture);
}

struct glint_picture_info glint_picture_info(const struct glint_picture *picture) {
    int patch = picture->vision->model.config.patch;
    const struct glint_rgb *rgb = &picture->look->rgb;
    return (struct glint_picture_info){.width = picture->width,
                                       .height = picture->height,
                                       .rows = rgb->height / patch,
                                       .cols = rgb->width / patch,
                                       .n_tokens = tokens_of(picture->vision, picture->look),
                                       .rgb = rgb->data};
}

int glint_picture_width(const struct glint_picture *picture) {
    return picture->vision->model.config.n_text;
}

uint64_t glint_picture_identity(const struct glint_picture *picture) {
    return picture->look->identity;
}

// ---- looking --------------------------------------------------------------------------------

static bool report(void *user, int64_t done, int64_t total) {
    const struct glint_vision_params *params = user;
    if (params->progress)
        params->progress(params->user, (int)(done * 1000 / total));
    return params->cancel && params->cancel(params->user);
}

static struct glint_tower_job job_of(struct glint_picture *picture) {
    struct glint_vision *vision = picture->vision;
    const struct glint_rgb *rgb = &picture->look->rgb;
    return (struct glint_tower_job){.model = &vision->model,
                                    .rgb = rgb->data,
                                    .height = rgb->height,
                                    .width = rgb->width,
                                    .exact = vision->params.exact_activations,
                                    .step = report,
                                    .user = &vision->params};
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
    struct glint_tower_job job = job_of(picture);
    size_t n_token = (size_t)tokens_of(vision, picture->look), width = (size_t)config->n_text;
    uint64_t need =
        glint_tower_bytes(config, (int64_t)n_token * GLINT_VISION_MERGE * GLINT_VISION_MERGE) +
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
    job.features = rows;
    job.merged = merged;
    enum glint_status status = glint_tower_run(&job, err);
    if (status == GLINT_OK)
        status = check_finite(vision, rows, n_token * width, err);
    if (status != GLINT_OK) {
        glint_free(rows);
        return status;
    }
    glint_free(picture->look->rows);
    picture->look->rows = rows;
    return GLINT_OK;
}

enum glint_status glint_picture_rows(struct glint_picture *picture, const float **rows,
                                     struct glint_error *err) {
    if (!picture->look->rows)
        GLINT_TRY(look_at(picture, NULL, err));
    *rows = picture->look->rows;
    return GLINT_OK;
}

static void write_pixels(struct glint_picture *picture, float *out) {
    struct glint_picture_info info = glint_picture_info(picture);
    struct glint_tower_job job = job_of(picture);
    size_t n = 3 * (size_t)job.model->config.patch * (size_t)job.model->config.patch;
    for (int i = 0; i < info.rows * info.cols; i++) {
        glint_tower_patch(&job, i / info.cols, i % info.cols, out);
        memcpy(out + n, out, n * sizeof(float));
        out += 2 * n;
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
    if (!stages->features)
        return GLINT_OK;
    GLINT_TRY(glint_picture_rows(picture, &rows, err));
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

// ---- into prompts ---------------------------------------------------------------------------

enum glint_status glint_expand_pictures(const struct glint_engine *engine,
                                        const struct glint_ids *ids,
                                        struct glint_picture *const *pictures, size_t n_pictures,
                                        struct glint_ids *out, struct glint_error *err) {
    const struct glint_dialect *dialect = glint_vocab_dialect(engine->vocab);
    size_t n = ids->n, n_place = 0;
    *out = (struct glint_ids){NULL, 0};
    if (dialect->patch < 0 || dialect->image_start < 0 || dialect->image_end < 0)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: the vocabulary lacks <|patch|>, <|image_start|> or <|image_end|>: "
                          "this model sees no pictures",
                          engine->files.gguf->path);
    for (size_t i = 0; i < ids->n; i++)
        n_place += ids->data[i] == dialect->patch;
    if (n_place != n_pictures)
        return glint_fail(err, GLINT_E_ARG, "the prompt has places for %zu pictures, found %zu",
                          n_place, n_pictures);
    for (size_t k = 0; k < n_pictures; k++)
        n += (size_t)glint_picture_info(pictures[k]).n_tokens + 1;
    int32_t *next = glint_alloc(n, sizeof *next);
    if (!next)
        return glint_fail(err, GLINT_E_NOMEM, "prompt: no memory");
    *out = (struct glint_ids){next, n};
    for (size_t i = 0, k = 0; i < ids->n; i++) {
        if (ids->data[i] != dialect->patch) {
            *next++ = ids->data[i];
            continue;
        }
        *next++ = dialect->image_start;
        for (int t = glint_picture_info(pictures[k++]).n_tokens; t > 0; t--)
            *next++ = dialect->patch;
        *next++ = dialect->image_end;
    }
    return GLINT_OK;
}
