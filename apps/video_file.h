// SPDX-License-Identifier: Apache-2.0
// video_file.h — a video file's sampled frames through ffmpeg and ffprobe, which run as confined
// children (child.h): they may read that file and pipes, nothing else.
#ifndef GLINT_APPS_VIDEO_FILE_H
#define GLINT_APPS_VIDEO_FILE_H

#include "child.h"

#include <glint/glint.h>

struct glint_video_file {
    struct glint_child child;
    int64_t index[GLINT_VIDEO_MAX_FRAMES]; // of the sampled frames
    double seconds[GLINT_VIDEO_MAX_FRAMES];
    int n, n_read;
    int width, height; // of every frame
    uint8_t *rgb;      // the frame at hand [height, width, 3]
};

// Counts and samples the frames, and reads the first one. stop may be NULL.
enum glint_status glint_video_open(struct glint_video_file *video, const char *path,
                                   const struct glint_child_stop *stop, struct glint_error *err);
// A frame of the sample, in ascending order, as glint_picture_source wants it.
const uint8_t *glint_video_frame(void *video, int i);
void glint_video_close(struct glint_video_file *video);

#endif
