// SPDX-License-Identifier: Apache-2.0
// album.c — see album.h.
#include "album.h"

#include "interrupt.h"
#include "video_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 1 << 30 };

static bool cancelled(void *user) {
    (void)user;
    return glint_interrupt_seen();
}

static void progress(void *user, int done) {
    struct glint_album *album = user;
    if (!album->looking) {
        glint_progress_begin(&album->progress, "looking at the picture", 1000, album->args->quiet);
        album->progress.plain = true;
        album->looking = true;
    }
    glint_progress_step(&album->progress, (uint64_t)done);
    if (done == 1000) {
        glint_progress_end(&album->progress, true);
        album->looking = false;
    }
}

void glint_album_init(struct glint_album *album, struct glint_engine_args *args) {
    *album = (struct glint_album){.args = args};
}

bool glint_album_take(struct glint_album *album, const struct glint_options *state, int id) {
    int64_t value;
    switch (id) {
    case GLINT_ARG_IMAGE:
    case GLINT_ARG_VIDEO:
        if (album->n_paths == GLINT_ALBUM_MAX_PATHS) {
            glint_options_usage(state->command, "--image: found more than %d pictures",
                                GLINT_ALBUM_MAX_PATHS);
            return false;
        }
        album->is_video[album->n_paths] = id == GLINT_ARG_VIDEO;
        album->paths[album->n_paths++] = state->value;
        return true;
    case GLINT_ARG_VIDEO_SUMMED:
        album->video_summed = true;
        return true;
    case GLINT_ARG_MMPROJ:
        album->mmproj = state->value;
        return true;
    default:
        if (!glint_options_int(state, 1, 4096, &value))
            return false;
        album->max_tokens = (int)value;
        return true;
    }
}

static enum glint_status fail(struct glint_error *err, enum glint_status status, const char *path,
                              const char *what) {
    *err = (struct glint_error){.status = status};
    snprintf(err->text, sizeof err->text, "%s: %s", path, what);
    return status;
}

char *glint_album_beside(const char *model) {
    const char *end = strrchr(model, '.');
    size_t n = end && strcmp(end, ".gguf") == 0 ? (size_t)(end - model) : strlen(model);
    size_t size = n + sizeof "-mmproj.gguf";
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%.*s-mmproj.gguf", (int)n, model);
    return path;
}

static enum glint_status open_vision(struct glint_album *album, struct glint_error *err) {
    const struct glint_engine_params *engine = &album->args->params;
    char *beside = NULL;
    if (!album->mmproj && engine->model_path)
        beside = glint_album_beside(engine->model_path);
    const char *path = album->mmproj ? album->mmproj : beside;
    enum glint_status status = GLINT_OK;
    if (!path)
        status = fail(err, GLINT_E_NOTFOUND, "--mmproj", "pictures need a vision file");
    else if (!album->mmproj && access(path, F_OK) != 0)
        status = fail(err, GLINT_E_NOTFOUND, path,
                      "pictures need a vision file, and there is none beside the model; name one "
                      "with --mmproj");
    const struct glint_vision_params params = {.path = path,
                                               .device = engine->device,
                                               .cpu_tier = engine->cpu_tier,
                                               .n_threads = engine->n_threads,
                                               .exact_activations = engine->exact_activations,
                                               .no_memory_check = engine->no_memory_check,
                                               .progress = progress,
                                               .cancel = cancelled,
                                               .user = album};
    if (status == GLINT_OK)
        status = glint_vision_open(&album->vision, &params, err);
    free(beside);
    return status;
}

bool glint_album_is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

// The file's bytes for free(), or NULL with the error filled.
static uint8_t *read_file(const char *path, size_t *n, struct glint_error *err) {
    if (access(path, F_OK) == 0 && !glint_album_is_file(path)) { // a pipe may never end, or begin
        fail(err, GLINT_E_IO, path, "expected a picture file, found a folder, pipe or device");
        return NULL;
    }
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    uint8_t *data = NULL;
    if (size < 0) {
        fail(err, GLINT_E_IO, path, strerror(errno));
    } else if (size > MAX_FILE_BYTES) {
        fail(err, GLINT_E_LIMIT, path, "a picture file of more than 1 GiB");
    } else {
        rewind(file);
        *n = (size_t)size;
        data = malloc(*n + 1);
        if (!data || fread(data, 1, *n, file) != *n) {
            fail(err, GLINT_E_IO, path, data ? "cannot read" : "out of memory");
            free(data);
            data = NULL;
        }
    }
    if (file)
        fclose(file);
    return data;
}

static enum glint_status add_source(struct glint_album *album,
                                    const struct glint_picture_source *source,
                                    struct glint_error *err) {
    struct glint_picture **grown =
        realloc(album->pictures, (album->n + 1) * sizeof(struct glint_picture *));
    if (!grown)
        return fail(err, GLINT_E_NOMEM, source->name, "out of memory");
    album->pictures = grown;
    enum glint_status status =
        glint_picture_open(&album->pictures[album->n], album->vision, source, err);
    album->n += status == GLINT_OK;
    return status;
}

static enum glint_status add_picture(struct glint_album *album, const char *path,
                                     struct glint_error *err) {
    struct glint_picture_source source = {.name = path, .max_tokens = album->max_tokens};
    uint8_t *data = read_file(path, &source.n, err);
    if (!data)
        return err->status;
    source.data = data;
    enum glint_status status = add_source(album, &source, err);
    free(data);
    return status;
}

static enum glint_status add_video(struct glint_album *album, const char *path,
                                   struct glint_error *err) {
    struct glint_video_file video;
    enum glint_status status = glint_video_open(&video, path, NULL, err);
    if (status != GLINT_OK)
        return status;
    struct glint_picture_source source = {.name = path,
                                          .max_tokens = album->max_tokens,
                                          .width = video.width,
                                          .height = video.height,
                                          .n_frames = video.n,
                                          .frame = glint_video_frame,
                                          .user = &video,
                                          .seconds = video.seconds,
                                          .summed_kernel = album->video_summed};
    status = add_source(album, &source, err);
    glint_video_close(&video);
    struct glint_vision_info info = glint_vision_info(album->vision);
    if (status == GLINT_OK && !info.frames && !album->args->quiet)
        fprintf(
            stderr,
            "%s: looked at with the sum of the kernels of two frames, as --video-summed asks: %s "
            "has no more; not quite what the model was trained on\n",
            path, info.path);
    return status;
}

enum glint_status glint_album_add(struct glint_album *album, const char *path, bool video,
                                  struct glint_error *err) {
    enum glint_status status = album->vision ? GLINT_OK : open_vision(album, err);
    if (status != GLINT_OK)
        return status;
    return video ? add_video(album, path, err) : add_picture(album, path, err);
}

char *glint_album_parts(const struct glint_album *album) {
    char *parts = malloc(album->n + 1);
    for (size_t i = 0; parts && i < album->n; i++)
        parts[i] = glint_picture_info(album->pictures[i]).n_groups > 0 ? 'v' : 'i';
    if (parts)
        parts[album->n] = 0;
    return parts;
}

enum glint_status glint_album_check_paths(const struct glint_album *album,
                                          struct glint_error *err) {
    for (size_t i = 0; i < album->n_paths; i++)
        if (access(album->paths[i], R_OK) != 0)
            return fail(err, GLINT_E_IO, album->paths[i], strerror(errno));
    return GLINT_OK;
}

enum glint_status glint_album_add_paths(struct glint_album *album, struct glint_error *err) {
    for (size_t i = 0; i < album->n_paths; i++) {
        enum glint_status status = glint_album_add(album, album->paths[i], album->is_video[i], err);
        if (status != GLINT_OK)
            return status;
    }
    album->n_paths = 0;
    return GLINT_OK;
}

void glint_album_cut(struct glint_album *album, size_t n) {
    while (album->n > n)
        glint_picture_close(&album->pictures[--album->n]);
}

void glint_album_drop(struct glint_album *album, size_t n) {
    for (size_t i = 0; i < n; i++)
        glint_picture_close(&album->pictures[i]);
    if (n > 0)
        memmove(album->pictures, album->pictures + n,
                (album->n - n) * sizeof(struct glint_picture *));
    album->n -= n;
}

enum glint_status glint_album_expand(const struct glint_album *album,
                                     const struct glint_engine *engine, struct glint_ids *ids,
                                     struct glint_error *err) {
    struct glint_ids out;
    if (album->n == 0)
        return GLINT_OK;
    enum glint_status status =
        glint_expand_pictures(engine, ids, album->pictures, album->n, &out, err);
    if (status != GLINT_OK)
        return status;
    glint_ids_free(ids);
    *ids = out;
    return GLINT_OK;
}

void glint_album_fini(struct glint_album *album) {
    if (album->looking)
        glint_progress_end(&album->progress, false);
    glint_album_cut(album, 0);
    free(album->pictures);
    glint_vision_close(&album->vision);
    *album = (struct glint_album){0};
}
