// SPDX-License-Identifier: Apache-2.0
// video_file.c — see video_file.h. Frames come as PPM pictures, which tell their own size: ffmpeg
// turns frames upright. No alpha is left then.
#include "video_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 16384, SELECT_BYTES = 4096, TEXT_BYTES = 2000, SECONDS = 600 };

// Containers that hold their frames themselves. Of ffmpeg's others some are lists of names (concat,
// hls, dash, ...): such a file would have it read whatever lies on this machine.
#define CONTAINERS                                                                                 \
    "mov,matroska,avi,asf,flv,ogg,mpegts,mpeg,mpegvideo,m4v,h264,hevc,obu,ivf,gif,apng,mjpeg,mxf," \
    "nut,yuv4mpegpipe"

static enum glint_status fail(struct glint_error *err, enum glint_status status, const char *path,
                              const char *what) {
    *err = (struct glint_error){.status = status};
    snprintf(err->text, sizeof err->text, "%s: %s", path, what);
    return status;
}

// The first line of what a tool said, without the address of a structure and the file's name that
// it begins with; neither is of use to who sent the file. Returns its length.
static int plain_words(const char **words, const char *path) {
    const char *end;
    if (**words == '[' && (end = strstr(*words, "] ")))
        *words = end + 2;
    size_t n = strlen(path);
    if (strncmp(*words, "file:", 5) == 0 && strncmp(*words + 5, path, n) == 0 &&
        strncmp(*words + 5 + n, ": ", 2) == 0)
        *words += 5 + n + 2;
    if (strncmp(*words, "Format not on whitelist", 23) == 0)
        *words = "not a video format that glint opens";
    return (int)strcspn(*words, "\n");
}

// The child did not do its work: why.
static enum glint_status refuse(struct glint_error *err, const char *path, const char *tool,
                                const struct glint_child *child) {
    char what[GLINT_CHILD_WORDS + 100];
    if (glint_child_is_stopped(child))
        return fail(err, GLINT_E_CANCELLED, path, "cancelled");
    const char *words = child->n_words > 0 ? child->words : "not a video it can read";
    int n = plain_words(&words, path);
    snprintf(what, sizeof what, "%s: %.*s", tool, n, words);
    return fail(err, GLINT_E_FORMAT, path, what);
}

// "file:PATH", which no name turns into another protocol; for free().
static char *url_of(const char *path) {
    char *url = malloc(strlen(path) + sizeof "file:");
    if (url)
        sprintf(url, "file:%s", path);
    return url;
}

// ---- ffprobe --------------------------------------------------------------------------------

static double ratio(const char *text) {
    double above = 0, below = 0;
    if (sscanf(text, "%lf/%lf", &above, &below) != 2 || !(above > 0) || !(below > 0))
        return 0;
    return above / below;
}

// How many frames, and how many a second (0: unknown).
static enum glint_status count(const char *path, const char *url,
                               const struct glint_child_stop *stop, int64_t *total, double *fps,
                               struct glint_error *err) {
    const char *const argv[] = {"ffprobe",
                                "-v",
                                "error",
                                "-protocol_whitelist",
                                "file",
                                "-format_whitelist",
                                CONTAINERS,
                                "-select_streams",
                                "v:0",
                                "-count_packets",
                                "-show_entries",
                                "stream=avg_frame_rate,nb_read_packets",
                                "-of",
                                "default=noprint_wrappers=1",
                                "-i",
                                url,
                                NULL};
    struct glint_child child;
    char text[TEXT_BYTES] = "";
    size_t n = 0;
    if (!glint_child_start(&child, argv, SECONDS, stop))
        return fail(err, GLINT_E_IO, path, "ffprobe cannot be started");
    while (n + 1 < sizeof text && glint_child_read(&child, text + n, 1))
        n++;
    bool good = glint_child_end(&child, false);
    const char *rate = strstr(text, "avg_frame_rate="), *packets = strstr(text, "nb_read_packets=");
    *fps = rate ? ratio(rate + strlen("avg_frame_rate=")) : 0;
    *total = packets ? strtoll(packets + strlen("nb_read_packets="), NULL, 10) : 0;
    if (!good && child.n_words == 0 && n == 0)
        return fail(err, GLINT_E_NOTFOUND, path,
                    "videos need ffmpeg and ffprobe, which are not in the PATH or could not run");
    return good && *total > 0 ? GLINT_OK : refuse(err, path, "ffprobe", &child);
}

// ---- ffmpeg ---------------------------------------------------------------------------------

static bool read_number(struct glint_child *child, int *value) {
    char c;
    *value = 0;
    while (glint_child_read(child, &c, 1)) {
        if (c < '0' || c > '9')
            return c == ' ' || c == '\n';
        *value = *value * 10 + (c - '0');
        if (*value > MAX_SIDE)
            return false;
    }
    return false;
}

// The next frame into video->rgb; all frames have the first one's size.
static bool read_frame(struct glint_video_file *video) {
    char magic[3];
    int width, height, most;
    if (!glint_child_read(&video->child, magic, 3) || memcmp(magic, "P6\n", 3) != 0 ||
        !read_number(&video->child, &width) || !read_number(&video->child, &height) ||
        !read_number(&video->child, &most) || most != 255 || width < 1 || height < 1)
        return false;
    size_t n = (size_t)width * (size_t)height * 3;
    if (!video->rgb) {
        video->width = width;
        video->height = height;
        video->rgb = malloc(n);
    }
    return video->rgb && width == video->width && height == video->height &&
           glint_child_read(&video->child, video->rgb, n);
}

static bool start(struct glint_video_file *video, const char *url,
                  const struct glint_child_stop *stop) {
    char select[SELECT_BYTES];
    size_t at = (size_t)snprintf(select, sizeof select, "select='");
    for (int i = 0; i < video->n; i++)
        at += (size_t)snprintf(select + at, sizeof select - at, "%seq(n\\,%lld)", i ? "+" : "",
                               (long long)video->index[i]);
    snprintf(select + at, sizeof select - at, "'");
    const char *const argv[] = {"ffmpeg",
                                "-nostdin",
                                "-v",
                                "error",
                                "-threads",
                                "1",
                                "-protocol_whitelist",
                                "file",
                                "-format_whitelist",
                                CONTAINERS,
                                "-i",
                                url,
                                "-map",
                                "0:v:0",
                                "-an",
                                "-sn",
                                "-dn",
                                "-vf",
                                select,
                                "-vsync",
                                "0",
                                "-c:v",
                                "ppm",
                                "-pix_fmt",
                                "rgb24",
                                "-f",
                                "image2pipe",
                                "pipe:1",
                                NULL};
    return glint_child_start(&video->child, argv, SECONDS, stop);
}

enum glint_status glint_video_open(struct glint_video_file *video, const char *path,
                                   const struct glint_child_stop *stop, struct glint_error *err) {
    *video = (struct glint_video_file){.child = {.out = -1, .err = -1}};
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(err, GLINT_E_IO, path, "cannot be opened");
    fclose(file);
    int64_t total = 0;
    double fps = 0;
    char *url = url_of(path);
    enum glint_status status = url ? count(path, url, stop, &total, &fps, err)
                                   : fail(err, GLINT_E_NOMEM, path, "out of memory");
    if (status == GLINT_OK) {
        video->n = glint_video_sample(total, fps, video->index);
        for (int i = 0; i < video->n; i++)
            video->seconds[i] = (double)video->index[i] / (fps > 0 ? fps : 24);
        if (!start(video, url, stop))
            status = fail(err, GLINT_E_IO, path, "ffmpeg cannot be started");
        else if (!read_frame(video))
            status = refuse(err, path, "ffmpeg", &video->child);
    }
    video->n_read = 1;
    free(url);
    if (status != GLINT_OK)
        glint_video_close(video);
    return status;
}

const uint8_t *glint_video_frame(void *user, int i) {
    struct glint_video_file *video = user;
    for (; video->n_read <= i; video->n_read++)
        if (!read_frame(video))
            return NULL;
    return video->rgb;
}

void glint_video_close(struct glint_video_file *video) {
    glint_child_end(&video->child, true);
    free(video->rgb);
    *video = (struct glint_video_file){.child = {.out = -1, .err = -1}};
}
