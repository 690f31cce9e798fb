// SPDX-License-Identifier: Apache-2.0
// picture_prompt.c — the places of pictures and videos in a prompt's ids (chat.md B.12), and which
// frames of a video are looked at (model.md C.9).
#include "base/alloc.h"
#include "engine/engine.h"
#include "engine/picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- frames ---------------------------------------------------------------------------------

int glint_video_sample(int64_t total, double fps, int64_t *index) {
    if (total < 1)
        return 0;
    double rate = fps > 0 ? fps : 24, wanted = floor((double)total * 2 / rate);
    int64_t n = wanted < GLINT_VIDEO_MAX_FRAMES ? (int64_t)wanted : GLINT_VIDEO_MAX_FRAMES;
    n = n < total ? n : total;
    n = n / 2 * 2 > 2 ? n / 2 * 2 : 2;
    n = n < total ? n : total;
    // Evenly spaced in float32, from either end to the middle, as torch.linspace counts them.
    float last = (float)(total - 1), step = n > 1 ? last / (float)(n - 1) : 0;
    for (int64_t i = 0; i < n; i++)
        index[i] = (int64_t)(i < n / 2 ? step * (float)i : last - step * (float)(n - 1 - i));
    return (int)n;
}

// ---- ids ------------------------------------------------------------------------------------

struct expansion {
    const struct glint_engine *engine;
    const struct glint_dialect *dialect;
    int32_t *ids; // NULL: only counts
    size_t n;
    struct glint_error *err;
};

static void put(struct expansion *to, int32_t id, size_t times) {
    for (size_t i = 0; to->ids && i < times; i++)
        to->ids[to->n + i] = id;
    to->n += times;
}

static enum glint_status put_text(struct expansion *to, const char *text) {
    struct glint_ids ids;
    struct glint_text source = {.data = text, .n = strlen(text)};
    GLINT_TRY(glint_tokenize(to->engine, &source, &ids, to->err));
    for (size_t i = 0; i < ids.n; i++)
        put(to, ids.data[i], 1);
    glint_ids_free(&ids);
    return GLINT_OK;
}

static enum glint_status put_video(struct expansion *to, const struct glint_picture *video) {
    const struct glint_dialect *dialect = to->dialect;
    struct glint_picture_info info = glint_picture_info(video);
    put(to, dialect->vid_start, 1);
    for (int g = 0; g < info.n_groups; g++) {
        char text[48];
        snprintf(text, sizeof text, "Time: %.1fs", glint_picture_seconds(video, g));
        GLINT_TRY(put_text(to, text));
        put(to, dialect->video, (size_t)(info.n_tokens / info.n_groups));
        put(to, g + 1 < info.n_groups ? dialect->vid_frame_separator : dialect->vid_end, 1);
    }
    return GLINT_OK;
}

static enum glint_status put_picture(struct expansion *to, const struct glint_picture *picture,
                                     int32_t place, size_t i) {
    struct glint_picture_info info = glint_picture_info(picture);
    bool video = place == to->dialect->video;
    if (video != (info.n_groups > 0))
        return glint_fail(to->err, GLINT_E_ARG, "place %zu of the prompt is for a %s, found a %s",
                          i + 1, video ? "video" : "picture", video ? "picture" : "video");
    if (video)
        return put_video(to, picture);
    put(to, to->dialect->image_start, 1);
    put(to, place, (size_t)info.n_tokens);
    put(to, to->dialect->image_end, 1);
    return GLINT_OK;
}

static enum glint_status expand(struct expansion *to, const struct glint_ids *ids,
                                struct glint_picture *const *pictures) {
    size_t k = 0;
    for (size_t i = 0; i < ids->n; i++) {
        int32_t id = ids->data[i];
        if (id == to->dialect->patch || id == to->dialect->video) {
            GLINT_TRY(put_picture(to, pictures[k], id, k));
            k++;
        } else {
            put(to, id, 1);
        }
    }
    return GLINT_OK;
}

static enum glint_status check_dialect(const struct glint_engine *engine, bool video,
                                       struct glint_error *err) {
    const struct glint_dialect *d = glint_vocab_dialect(engine->vocab);
    bool good = d->patch >= 0 && d->image_start >= 0 && d->image_end >= 0;
    if (good && video)
        good = d->vid_start >= 0 && d->vid_end >= 0 && d->vid_frame_separator >= 0;
    return good ? GLINT_OK
                : glint_fail(err, GLINT_E_UNSUPPORTED,
                             "%s: the vocabulary lacks special tokens around %s: this model sees "
                             "none",
                             engine->files.gguf->path, video ? "videos" : "pictures");
}

enum glint_status glint_expand_pictures(const struct glint_engine *engine,
                                        const struct glint_ids *ids,
                                        struct glint_picture *const *pictures, size_t n_pictures,
                                        struct glint_ids *out, struct glint_error *err) {
    struct expansion to = {
        .engine = engine, .dialect = glint_vocab_dialect(engine->vocab), .err = err};
    size_t n_place = 0, n_video = 0;
    *out = (struct glint_ids){NULL, 0};
    for (size_t i = 0; i < ids->n; i++) {
        n_video += to.dialect->video >= 0 && ids->data[i] == to.dialect->video;
        n_place += ids->data[i] == to.dialect->patch || ids->data[i] == to.dialect->video;
    }
    GLINT_TRY(check_dialect(engine, n_video > 0, err));
    if (n_place != n_pictures)
        return glint_fail(err, GLINT_E_ARG, "the prompt has places for %zu pictures, found %zu",
                          n_place, n_pictures);
    GLINT_TRY(expand(&to, ids, pictures));
    to.ids = glint_alloc(to.n, sizeof *to.ids);
    to.n = 0;
    if (!to.ids)
        return glint_fail(err, GLINT_E_NOMEM, "prompt: no memory");
    enum glint_status status = expand(&to, ids, pictures);
    *out = (struct glint_ids){to.ids, to.n};
    if (status != GLINT_OK)
        glint_ids_free(out);
    return status;
}
