// SPDX-License-Identifier: Apache-2.0
// media.c — content parts of all protocols to a list of sources.
#include "server/media.h"

#include "base/alloc.h"

#include <stdio.h>

void glint_media_fini(struct glint_media *media) {
    glint_free(media->items);
    *media = (struct glint_media){.items = NULL};
}

static bool refuse(struct glint_api_error *error, const char *path, const char *what) {
    glint_api_fail(error, 400, path, "%s: %s", path, what);
    return false;
}

static bool add(struct glint_media *media, struct glint_json_writer *w,
                const struct glint_media_item *item, struct glint_api_error *error) {
    struct glint_media_item *grown = NULL;
    if (media->n == GLINT_MEDIA_MAX) {
        glint_api_fail(error, 400, item->path,
                       "%s: found more than %d pictures and videos in one request", item->path,
                       GLINT_MEDIA_MAX);
        return false;
    }
    // Doubles, so that n appends copy 2 n items at most.
    if ((media->n & (media->n - 1)) == 0) {
        grown = glint_realloc(media->items, media->n ? 2 * media->n : 1, sizeof *grown);
        if (!grown) {
            glint_api_fail(error, 500, NULL, "no memory for the request");
            return false;
        }
        media->items = grown;
    }
    media->items[media->n++] = *item;
    glint_json_begin_object(w);
    glint_json_key(w, "type");
    glint_json_text(w, item->is_video ? "video" : "image");
    glint_json_end_object(w);
    return true;
}

static const char *const image_types[] = {"image_url", "input_image", "image"};
static const char *const video_types[] = {"video_url", "input_video", "video"};

static bool is_one_of(const struct glint_json *type, const char *const names[3]) {
    return glint_json_is_text(type, names[0]) || glint_json_is_text(type, names[1]) ||
           glint_json_is_text(type, names[2]);
}

bool glint_media_is_part(const struct glint_json *part) {
    const struct glint_json *type = glint_json_get(part, "type");
    return is_one_of(type, image_types) || is_one_of(type, video_types);
}

// {"url"} or {"data"}, or the URL itself.
static bool find_source(const struct glint_json *value, struct glint_media_item *item) {
    if (glint_json_to_string(value, &item->source) ||
        glint_json_to_string(glint_json_get(value, "url"), &item->source))
        return true;
    item->is_base64 = glint_json_to_string(glint_json_get(value, "data"), &item->source);
    // llama.cpp's clients put a data URL there as well.
    if (item->is_base64 && glint_view_starts(item->source, "data:"))
        item->is_base64 = false;
    return item->is_base64 || item->source.data;
}

bool glint_media_put_part(struct glint_media *media, struct glint_json_writer *w,
                          const struct glint_json *part, const char *path,
                          struct glint_api_error *error) {
    struct glint_media_item item = {.is_video =
                                        is_one_of(glint_json_get(part, "type"), video_types)};
    const struct glint_json *source = glint_json_get(part, "source"), *inner = NULL;
    const char *const *names = item.is_video ? video_types : image_types;
    snprintf(item.path, sizeof item.path, "%s", path);
    if (glint_json_get(part, "file_id") ||
        glint_json_is_text(glint_json_get(source, "type"), "file"))
        return refuse(error, path, "this server keeps no files; send the picture itself");
    for (int i = 0; i < 3 && !inner; i++)
        inner = glint_json_get(part, names[i]);
    if (!find_source(source, &item) && !find_source(inner, &item) && !find_source(part, &item))
        return refuse(error, path,
                      item.is_video ? "expected a video's URL or data"
                                    : "expected a picture's URL or data");
    const struct glint_json *detail = glint_json_get(inner, "detail");
    if (!detail)
        detail = glint_json_get(part, "detail");
    item.low_detail = glint_json_is_text(detail, "low");
    return add(media, w, &item, error);
}

bool glint_media_put_base64(struct glint_media *media, struct glint_json_writer *w,
                            struct glint_view text, const char *path,
                            struct glint_api_error *error) {
    struct glint_media_item item = {.is_base64 = true, .source = text};
    snprintf(item.path, sizeof item.path, "%s", path);
    if (glint_view_starts(text, "data:"))
        item.is_base64 = false;
    return add(media, w, &item, error);
}

static bool put_content(struct glint_media *media, struct glint_json_writer *w,
                        const struct glint_json *content, unsigned i_message,
                        struct glint_api_error *error) {
    unsigned i = 0;
    bool ok = true;
    if (!glint_json_is(content, GLINT_JSON_ARRAY)) {
        glint_json_value(w, content);
        return true;
    }
    glint_json_begin_array(w);
    for (const struct glint_json *part = glint_json_first(content); part && ok;
         part = part->next, i++) {
        char path[GLINT_MEDIA_PATH];
        snprintf(path, sizeof path, "messages[%u].content[%u]", i_message, i);
        if (glint_media_is_part(part))
            ok = glint_media_put_part(media, w, part, path, error);
        else
            glint_json_value(w, part);
    }
    glint_json_end_array(w);
    return ok;
}

bool glint_media_put_messages(struct glint_media *media, struct glint_json_writer *w,
                              const struct glint_json *messages, struct glint_api_error *error) {
    unsigned i = 0;
    bool ok = true;
    glint_json_begin_array(w);
    for (const struct glint_json *m = glint_json_first(messages); m && ok; m = m->next, i++) {
        if (!glint_json_is(m, GLINT_JSON_OBJECT)) {
            glint_json_value(w, m); // refused by name when it is rendered
            continue;
        }
        glint_json_begin_object(w);
        for (const struct glint_json *field = glint_json_first(m); field && ok;
             field = field->next) {
            glint_json_key_view(w, field->key);
            if (glint_view_is(field->key, "content"))
                ok = put_content(media, w, field, i, error);
            else
                glint_json_value(w, field);
        }
        glint_json_end_object(w);
    }
    glint_json_end_array(w);
    return ok;
}
