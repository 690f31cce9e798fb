// SPDX-License-Identifier: Apache-2.0
// cmd_vision_eval.c — `glint vision-eval`: the stages of the vision path, for comparing engines.
// --resized: raw 8-bit RGB, [height][width][3]. The others raw little-endian float32: --pixels
// [patches][2][3][14][14], --tower [tokens][4 * tower width], --features [tokens][model width].
#include "album.h"
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_RESIZED = 1, OPT_PIXELS, OPT_TOWER, OPT_FEATURES, N_STAGE = 4 };

static const struct glint_option options[] = {
    {OPT_RESIZED, {"resized"}, "OUT", "write the resized picture here (raw 8-bit RGB)"},
    {OPT_PIXELS, {"pixels"}, "OUT", "write the normalized patches here (raw float32)"},
    {OPT_TOWER, {"tower"}, "OUT", "write the tower's merged rows here"},
    {OPT_FEATURES, {"features"}, "OUT", "write the projector's normed rows here"},
    GLINT_ALBUM_OPTIONS,
    GLINT_ENGINE_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "vision-eval",
    "--mmproj VISION --image FILE [--resized OUT] [--pixels OUT] [--tower OUT] [--features OUT]",
    "Looks at a picture and writes what the vision path makes of it.",
    options,
};

static bool write_stage(const char *path, const void *data, size_t n) {
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data, 1, n, file) == n;
    good = (!file || fclose(file) == 0) && good;
    if (!good) {
        fprintf(stderr, "glint vision-eval: %s: cannot write: %s\n", path, strerror(errno));
        if (file)
            glint_remove_result(path);
    }
    return good;
}

// paths[i]: where stage i goes, or NULL.
static int evaluate(struct glint_album *album, const char *const paths[N_STAGE]) {
    struct glint_error error = {0};
    if (glint_album_add_paths(album, &error) != GLINT_OK)
        return glint_report(&command, &error);
    struct glint_vision_info of = glint_vision_info(album->vision);
    struct glint_picture_info info = glint_picture_info(album->pictures[0]);
    size_t n_patch = (size_t)info.rows * (size_t)info.cols, n_token = (size_t)info.n_tokens;
    size_t n_pixel = 3 * (size_t)of.patch * (size_t)of.patch;
    const size_t bytes[N_STAGE] = {n_patch * n_pixel, n_patch * 2 * n_pixel * sizeof(float),
                                   n_token * 4 * (size_t)of.tower * sizeof(float),
                                   n_token * (size_t)of.width * sizeof(float)};
    float *stage[N_STAGE] = {NULL};
    bool good = true;
    for (int i = 1; i < N_STAGE; i++) {
        stage[i] = paths[i] ? malloc(bytes[i]) : NULL;
        good = good && (!paths[i] || stage[i]);
    }
    struct glint_picture_stages stages = {stage[1], stage[2], stage[3]};
    if (!good)
        fprintf(stderr, "glint vision-eval: out of memory\n");
    else if (glint_picture_look(album->pictures[0], &stages, &error) != GLINT_OK) {
        glint_report(&command, &error);
        good = false;
    }
    for (int i = 0; good && i < N_STAGE; i++)
        if (paths[i])
            good = write_stage(paths[i], i == 0 ? (const void *)info.rgb : stage[i], bytes[i]);
    if (good)
        printf("%d x %d pixels, resized to %d x %d: %d x %d patches, %d tokens\n", info.width,
               info.height, info.cols * of.patch, info.rows * of.patch, info.cols, info.rows,
               info.n_tokens);
    for (int i = 1; i < N_STAGE; i++)
        free(stage[i]);
    return good ? GLINT_EXIT_OK : GLINT_EXIT_FAILED;
}

int glint_cmd_vision_eval(int argc, char **argv) {
    static struct glint_engine_args args; // large
    static struct glint_options state;
    static struct glint_album album;
    const char *paths[N_STAGE] = {NULL};
    glint_engine_args_init(&args);
    glint_album_init(&album, &args);
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        bool ok = true;
        if (id <= OPT_FEATURES)
            paths[id - OPT_RESIZED] = state.value;
        else if (id >= GLINT_ARG_IMAGE)
            ok = glint_album_take(&album, &state, id);
        else
            ok = glint_engine_args_take(&args, &state, id);
        if (!ok)
            return GLINT_EXIT_USAGE;
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (album.n_paths != 1)
        return glint_options_usage(&command, "needs --mmproj VISION and one --image FILE");
    int result = evaluate(&album, paths);
    glint_album_fini(&album);
    return result;
}
