// SPDX-License-Identifier: Apache-2.0
// album.h — the pictures of a conversation, from files, in order, and the vision file that they are
// looked at with: the flags --image, --video, --mmproj, --image-max-tokens and --video-summed of
// commands that answer. A video is a picture with more rows.
//
// With pictures in a prompt: add them, write a content part {"type":"image"} or {"type":"video"}
// for each into the messages, expand the prompt's ids, and give the session the pictures before it
// reads the ids.
#ifndef GLINT_APPS_ALBUM_H
#define GLINT_APPS_ALBUM_H

#include "engine_args.h"

enum {
    GLINT_ARG_IMAGE = 3000, // the first of them
    GLINT_ARG_VIDEO,
    GLINT_ARG_MMPROJ,
    GLINT_ARG_IMAGE_TOKENS,
    GLINT_ARG_VIDEO_SUMMED,
    GLINT_ALBUM_MAX_PATHS = 256,
};

#define GLINT_ALBUM_OPTIONS                                                                        \
    {GLINT_ARG_IMAGE, {"image"}, "FILE", "a picture for the prompt; may be repeated"},             \
        {GLINT_ARG_VIDEO, {"video"}, "FILE", "a video for the prompt (needs ffmpeg)"},             \
        {GLINT_ARG_MMPROJ, {"mmproj"}, "FILE", "vision file (default: MODEL-mmproj.gguf)"},        \
        {GLINT_ARG_IMAGE_TOKENS,                                                                   \
         {"image-max-tokens"},                                                                     \
         "N",                                                                                      \
         "tokens that a picture may take (4096; a pair of\nframes of a video: 144)"},              \
    {                                                                                              \
        GLINT_ARG_VIDEO_SUMMED, {"video-summed"}, NULL,                                            \
            "look at videos with a vision file that cannot tell\ntwo frames apart, less exactly"   \
    }

struct glint_album {
    const char *paths[GLINT_ALBUM_MAX_PATHS]; // of the flags, not added yet
    bool is_video[GLINT_ALBUM_MAX_PATHS];     // whether paths[i] is of --video
    size_t n_paths;
    const char *mmproj; // NULL: beside the model
    int max_tokens;     // 0: the most
    bool video_summed;
    struct glint_engine_args *args;
    struct glint_vision *vision;     // NULL until the first picture
    struct glint_picture **pictures; // [n]
    size_t n;
    struct glint_progress progress;
    bool looking; // the bar is up
};

// args: the model's flags, kept; they tell threads, tier and where the vision file may be.
void glint_album_init(struct glint_album *album, struct glint_engine_args *args);
// Takes option `id` of state, one of those above. False when it was bad (a message was printed).
bool glint_album_take(struct glint_album *album, const struct glint_options *state, int id);
// Adds a picture, or a video, at the end; the first one opens the vision file.
enum glint_status glint_album_add(struct glint_album *album, const char *path, bool video,
                                  struct glint_error *err);
// Where a model's vision file is looked for: MODEL.gguf -> MODEL-mmproj.gguf. For free(); NULL when
// out of memory.
char *glint_album_beside(const char *model);
// Whether there is a file of that name, not a folder, a pipe or a device.
bool glint_album_is_file(const char *path);
// Fails when a path of the command line cannot be read: told before a model is opened.
enum glint_status glint_album_check_paths(const struct glint_album *album, struct glint_error *err);
// Adds those of --image and --video, in the order of the command line.
enum glint_status glint_album_add_paths(struct glint_album *album, struct glint_error *err);
// Keeps the first n.
void glint_album_cut(struct glint_album *album, size_t n);
// Drops the first n.
void glint_album_drop(struct glint_album *album, size_t n);
// The types of its content parts, a letter each: i, v. For free(); NULL when out of memory.
char *glint_album_parts(const struct glint_album *album);
// Gives each picture's place among the ids as many tokens as the picture has rows.
enum glint_status glint_album_expand(const struct glint_album *album,
                                     const struct glint_engine *engine, struct glint_ids *ids,
                                     struct glint_error *err);
void glint_album_fini(struct glint_album *album);

#endif
