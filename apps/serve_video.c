// SPDX-License-Identifier: Apache-2.0
// serve_video.c — a video in memory goes to a file that only its owner may read, because ffmpeg has
// to go back and forth in it.
#define _GNU_SOURCE 1 // mkostemp
#include "serve_video.h"

#include "video_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct serve_video {
    struct glint_video_file file;
    char path[300]; // empty: no file there
};

static enum glint_status fail(struct glint_error *err, enum glint_status status, const char *name,
                              const char *what) {
    *err = (struct glint_error){.status = status};
    snprintf(err->text, sizeof err->text, "%s: %.800s", name, what);
    return status;
}

static void close_video(void *user) {
    struct serve_video *video = user;
    glint_video_close(&video->file);
    if (video->path[0])
        unlink(video->path);
    free(video);
}

static enum glint_status write_file(struct serve_video *video,
                                    const struct glint_picture_source *source,
                                    struct glint_error *err) {
    const char *folder = getenv("TMPDIR"), *data = source->data;
    size_t n = (size_t)snprintf(video->path, sizeof video->path, "%s/glint-video-XXXXXX",
                                folder && folder[0] ? folder : "/tmp");
    int fd = n < sizeof video->path ? mkostemp(video->path, O_CLOEXEC) : -1;
    if (fd < 0) {
        video->path[0] = 0;
        return fail(err, GLINT_E_IO, source->name, "no temporary file can be made");
    }
    for (size_t at = 0; at < source->n;) {
        ssize_t done = write(fd, data + at, source->n - at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            close(fd);
            return fail(err, GLINT_E_IO, source->name, "the temporary file cannot be written");
        }
        at += (size_t)done;
    }
    return close(fd) == 0
               ? GLINT_OK
               : fail(err, GLINT_E_IO, source->name, "the temporary file cannot be written");
}

static enum glint_status open_video(void **out, struct glint_picture_source *source,
                                    bool (*cancel)(void *user), void *user,
                                    struct glint_error *err) {
    const struct glint_child_stop stop = {cancel, user};
    struct serve_video *video = calloc(1, sizeof *video);
    struct glint_error inner = {.status = GLINT_OK};
    if (!video)
        return fail(err, GLINT_E_NOMEM, source->name, "no memory");
    video->file = (struct glint_video_file){.child = {.out = -1, .err = -1}};
    enum glint_status status = write_file(video, source, err);
    if (status == GLINT_OK) {
        status = glint_video_open(&video->file, video->path, &stop, &inner);
        // The client knows its part, not our file.
        size_t n = strlen(video->path);
        bool named = strncmp(inner.text, video->path, n) == 0 && inner.text[n] == ':';
        if (status != GLINT_OK)
            fail(err, status, source->name, named ? inner.text + n + 2 : inner.text);
    }
    if (status != GLINT_OK) {
        close_video(video);
        return status;
    }
    source->width = video->file.width;
    source->height = video->file.height;
    source->n_frames = video->file.n;
    source->frame = glint_video_frame;
    source->user = &video->file;
    source->seconds = video->file.seconds;
    *out = video;
    return GLINT_OK;
}

const struct glint_video_reader glint_serve_video = {open_video, close_video};
