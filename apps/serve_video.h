// SPDX-License-Identifier: Apache-2.0
// serve_video.h — how `glint serve` reads videos: through ffmpeg, from a temporary file.
#ifndef GLINT_APPS_SERVE_VIDEO_H
#define GLINT_APPS_SERVE_VIDEO_H

#include "server/server.h"

extern const struct glint_video_reader glint_serve_video;

#endif
