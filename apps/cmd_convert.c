// SPDX-License-Identifier: Apache-2.0
// cmd_convert.c — `glint convert`: an official Hugging Face folder to GGUF.
#include "cmd.h"
#include "convert_folder.h"
#include "interrupt.h"
#include "options.h"

#include <stdio.h>

enum { OPT_OUT = 1, OPT_TYPE, OPT_MMPROJ, OPT_TARGET, OPT_QUIET };

static const struct glint_option options[] = {
    {OPT_OUT, {"o", "output"}, "OUT.gguf", "file to write"},
    {OPT_TYPE,
     {"type"},
     "TYPE",
     "type of the matrices: bf16 (default), f16, f32, q8_0 or another\n"
     "weight type; vectors, the patch kernel and the position table\n"
     "are always f32"},
    {OPT_MMPROJ, {"mmproj"}, "OUT2.gguf", "also write the vision part to this file"},
    {OPT_TARGET,
     {"target"},
     "MODEL",
     "of a drafter: GGUF file or folder of the text model whose\n"
     "vocabulary it shares (default: the folder above)"},
    {OPT_QUIET, {"q", "quiet"}, NULL, "no progress"},
    {0},
};

static const struct glint_command command = {
    "convert",
    "DIR -o OUT.gguf [--type TYPE] [--mmproj OUT2.gguf]",
    "Converts an official Hugging Face folder (text model or drafter) to GGUF.",
    options,
};

// GLINT_EXIT_OK, or the status to leave with; *go tells whether there is work.
static int read_options(int argc, char **argv, struct glint_convert_request *request, bool *go) {
    struct glint_options state;
    int id;
    *go = false;
    request->dtype = glint_dtype_info(GLINT_DTYPE_BF16);
    glint_options_init(&state, &command, argc, argv);
    state.max_operands = 1;
    while ((id = glint_options_next(&state)) > 0) {
        switch (id) {
        case OPT_OUT:
            request->out = state.value;
            break;
        case OPT_MMPROJ:
            request->mmproj = state.value;
            break;
        case OPT_TARGET:
            request->target = state.value;
            break;
        case OPT_QUIET:
            request->quiet = true;
            break;
        default:
            request->dtype = glint_dtype_by_name(state.value);
            if (!request->dtype)
                return glint_options_usage(&command,
                                           "--type: found \"%s\", expected bf16, f16, "
                                           "f32, q8_0 or another weight type",
                                           state.value);
        }
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (state.argc != 1)
        return glint_options_usage(&command, "needs one folder");
    if (!request->out)
        return glint_options_usage(&command, "-o OUT.gguf is missing");
    request->folder = state.argv[0];
    *go = true;
    return GLINT_EXIT_OK;
}

int glint_cmd_convert(int argc, char **argv) {
    struct glint_convert_request request = {.folder = NULL};
    bool go;
    int exit_status = read_options(argc, argv, &request, &go);
    if (!go)
        return exit_status;
    struct glint_error err = {.status = GLINT_OK};
    size_t n_kept_bf16;
    glint_interrupt_watch();
    if (glint_convert_run(&request, &n_kept_bf16, &err) != GLINT_OK) {
        fprintf(stderr, "glint convert: %s\n", err.text);
        return GLINT_EXIT_FAILED;
    }
    if (n_kept_bf16 > 0 && !request.quiet)
        fprintf(stderr, "%zu matrices have rows that do not divide into %s blocks: kept as bf16\n",
                n_kept_bf16, request.dtype->name);
    return GLINT_EXIT_OK;
}
