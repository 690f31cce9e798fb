// SPDX-License-Identifier: Apache-2.0
// cmd_convert.c — `glint convert`: an official Hugging Face folder to GGUF.
#include "cmd.h"
#include "convert_folder.h"
#include "format/output_file.h"
#include "interrupt.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

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

struct request {
    const char *folder, *out, *mmproj, *target;
    const struct glint_dtype_info *dtype;
    bool quiet;
};

// GLINT_EXIT_OK, or the status to leave with; *go tells whether there is work.
static int read_options(int argc, char **argv, struct request *request, bool *go) {
    struct glint_options state;
    int id;
    *go = false;
    request->dtype = glint_dtype_info(GLINT_DTYPE_BF16);
    glint_options_init(&state, &command, argc, argv);
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
        return glint_options_usage(&command, "found %d folders, expected one", state.argc);
    if (!request->out)
        return glint_options_usage(&command, "-o OUT.gguf is missing");
    request->folder = state.argv[0];
    *go = true;
    return GLINT_EXIT_OK;
}

// Neither output may be a file that is read, nor both the same.
static enum glint_status check_outputs(const struct glint_convert *convert,
                                       const struct request *request, struct glint_error *err) {
    const char *outs[] = {request->out, request->mmproj};
    for (size_t i = 0; i < 2; i++) {
        if (!outs[i])
            continue;
        GLINT_TRY(glint_output_file_refuse_input(outs[i], convert->config_path, err));
        if (request->target)
            GLINT_TRY(glint_output_file_refuse_input(outs[i], request->target, err));
        for (uint32_t f = 0; f < convert->weights->n_files; f++)
            GLINT_TRY(glint_output_file_refuse_input(
                outs[i], glint_safetensors_file(convert->weights, f), err));
    }
    if (request->mmproj && strcmp(request->out, request->mmproj) == 0)
        return glint_fail(err, GLINT_E_ARG, "%s: found as -o and as --mmproj, expected two files",
                          request->out);
    return GLINT_OK;
}

static enum glint_status convert_folder(struct glint_convert *convert,
                                        const struct request *request, struct glint_error *err) {
    GLINT_TRY(glint_convert_open(convert, request->folder, err));
    GLINT_TRY(check_outputs(convert, request, err));
    const struct glint_json *type = glint_json_get(convert->top.object, "model_type");
    if (glint_json_is_text(type, "muse_glimmer_assistant")) {
        if (request->mmproj)
            return glint_fail(err, GLINT_E_ARG,
                              "%s: is a drafter, which has no vision part for "
                              "--mmproj",
                              request->folder);
        return glint_convert_drafter(convert, request->out, request->target, err);
    }
    if (!glint_json_is_text(type, "muse_glimmer"))
        return glint_convert_unfit(&convert->top, "model_type",
                                   "muse_glimmer or muse_glimmer_assistant", err);
    if (request->mmproj)
        GLINT_TRY(glint_convert_vision(convert, NULL, err)); // before anything is written
    GLINT_TRY(glint_convert_text(convert, request->out, err));
    if (request->mmproj)
        GLINT_TRY(glint_convert_vision(convert, request->mmproj, err));
    return GLINT_OK;
}

int glint_cmd_convert(int argc, char **argv) {
    struct request request = {.folder = NULL};
    bool go;
    int exit_status = read_options(argc, argv, &request, &go);
    if (!go)
        return exit_status;
    struct glint_convert convert = {.dtype = request.dtype, .quiet = request.quiet};
    struct glint_error err = {.status = GLINT_OK};
    glint_interrupt_watch();
    enum glint_status status = convert_folder(&convert, &request, &err);
    if (status == GLINT_OK && convert.n_kept_bf16 > 0 && !request.quiet)
        fprintf(stderr, "%zu matrices have rows that do not divide into %s blocks: kept as bf16\n",
                convert.n_kept_bf16, request.dtype->name);
    if (status != GLINT_OK)
        fprintf(stderr, "glint convert: %s\n", err.text);
    glint_convert_close(&convert);
    return status == GLINT_OK ? GLINT_EXIT_OK : GLINT_EXIT_FAILED;
}
