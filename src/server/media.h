// SPDX-License-Identifier: Apache-2.0
// media.h — the pictures and videos in a request's messages.
// A route writes its messages in OpenAI's shape (chat_job.h). Where a picture or a video stands, it
// calls one of the functions here, which writes the template's part (nothing but its type) and
// notes where the bytes are. Loading them, counting their tokens and putting them into the prompt
// is chat_job.c's matter: a route does nothing more.
#ifndef GLINT_SERVER_MEDIA_H
#define GLINT_SERVER_MEDIA_H

#include "format/json_write.h"
#include "server/api_error.h"

enum { GLINT_MEDIA_MAX = 256, GLINT_MEDIA_PATH = 100 };

struct glint_media_item {
    bool is_video;
    bool is_base64;           // the source is bare base64, else a URL
    bool low_detail;          // "detail": "low"
    struct glint_view source; // in the request's document
    char path[GLINT_MEDIA_PATH];
};

// In the order of the prompt. All-zero is a valid empty list.
struct glint_media {
    struct glint_media_item *items; // [n]
    size_t n;
};

void glint_media_fini(struct glint_media *media);

// Whether a part of a message's content is a picture or a video, in any protocol's shape: types
// image, image_url, input_image, video, video_url, input_video.
bool glint_media_is_part(const struct glint_json *part);
// Such a part: {"image_url": URL or {"url", "detail"}}, {"source": {"type": "base64", "data"} or
// {"type": "url", "url"}}, {"input_video": {"data" or "url"}} and what lies between them. path is
// the part's place in the request, "messages[3].content[1]", for refusals. The request's document
// must stay open until the job has been started. False after filling error.
bool glint_media_put_part(struct glint_media *media, struct glint_json_writer *w,
                          const struct glint_json *part, const char *path,
                          struct glint_api_error *error);
// A picture as base64 alone (Ollama's images).
bool glint_media_put_base64(struct glint_media *media, struct glint_json_writer *w,
                            struct glint_view text, const char *path,
                            struct glint_api_error *error);
// The value of "messages" of a chat completion, pictures and videos as above, all else as it is.
bool glint_media_put_messages(struct glint_media *media, struct glint_json_writer *w,
                              const struct glint_json *messages, struct glint_api_error *error);

#endif
