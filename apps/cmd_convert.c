// SPDX-License-Identifier: Apache-2.0
// cmd_convert.c — `glint convert`: an official Hugging Face folder to GGUF.
#include "cmd.h"
#include "options.h"

#include <stddef.h>

enum { OPT_OUT = 1, OPT_TYPE, OPT_MMPROJ, OPT_QUIET };

static const struct glint_option options[] = {
    {OPT_OUT, {"o", "output"}, "OUT.gguf", "file to write"},
    {OPT_TYPE, {"type"}, "TYPE", "type of the matrices: bf16 (default), f16, f32, q8_0"},
    {OPT_MMPROJ, {"mmproj"}, "OUT2.gguf", "also write the vision part to this file"},
    {OPT_QUIET, {"q", "quiet"}, NULL, "no progress"},
    {0},
};

static const struct glint_command command = {
    "convert",
    "DIR -o OUT.gguf [--type TYPE] [--mmproj OUT2.gguf]",
    "Converts an official Hugging Face folder (text model or drafter) to GGUF.",
    options,
};

int glint_cmd_convert(int argc, char **argv) {
    struct glint_options state;
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0)
        ;
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    return glint_options_usage(&command, "not built yet");
}
