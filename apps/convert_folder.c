// SPDX-License-Identifier: Apache-2.0
// convert_folder.c — what all kinds of output share: the open folder, general.*, unknown tensors.
#include "convert_folder.h"

#include "base/alloc.h"
#include "format/output_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_CONFIG_BYTES = 16 << 20 };

enum glint_status glint_convert_open(struct glint_convert *convert, const char *folder,
                                     struct glint_error *err) {
    struct stat info;
    convert->folder = folder;
    convert->config_path = glint_convert_path(folder, "config.json");
    if (!convert->config_path)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", folder);
    bool there = stat(folder, &info) == 0, is_folder = there && S_ISDIR(info.st_mode);
    if (there && (!is_folder || stat(convert->config_path, &info) != 0))
        return glint_fail(err, GLINT_E_IO,
                          "%s: found %s, expected the folder of an official checkpoint: "
                          "config.json and *.safetensors",
                          folder, is_folder ? "no config.json in it" : "a file");
    GLINT_TRY(glint_json_load(&convert->config, convert->config_path, MAX_CONFIG_BYTES, err));
    convert->top =
        (struct glint_convert_scope){convert->config_path, "", glint_json_root(convert->config)};
    if (convert->top.object->kind != GLINT_JSON_OBJECT)
        return glint_fail(err, GLINT_E_FORMAT, "%s: found %s, expected an object",
                          convert->config_path, glint_json_kind_name(convert->top.object));
    GLINT_TRY(glint_safetensors_open(&convert->weights, folder, err));
    convert->used = glint_alloc(convert->weights->n_tensors, sizeof *convert->used);
    if (!convert->used)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", folder);
    return GLINT_OK;
}

void glint_convert_close(struct glint_convert *convert) {
    glint_json_close(&convert->config);
    glint_safetensors_close(&convert->weights);
    glint_free(convert->config_path);
    glint_free(convert->used);
    memset(convert, 0, sizeof *convert);
}

struct glint_convert_plan glint_convert_plan_of(const struct glint_convert *convert) {
    return (struct glint_convert_plan){
        .weights = convert->weights, .dtype = convert->dtype, .used = convert->used};
}

// ---- general.*
// --------------------------------------------------------------------------------------

// The numbers public readers know for files that are mostly of one type.
static uint32_t file_type_of(enum glint_dtype dtype) {
    switch (dtype) {
    case GLINT_DTYPE_F32:
        return 0;
    case GLINT_DTYPE_F16:
        return 1;
    case GLINT_DTYPE_Q4_0:
        return 2;
    case GLINT_DTYPE_Q4_1:
        return 3;
    case GLINT_DTYPE_Q8_0:
        return 7;
    case GLINT_DTYPE_Q5_0:
        return 8;
    case GLINT_DTYPE_Q5_1:
        return 9;
    case GLINT_DTYPE_Q2_K:
        return 10;
    case GLINT_DTYPE_Q3_K:
        return 12;
    case GLINT_DTYPE_Q4_K:
        return 14;
    case GLINT_DTYPE_Q5_K:
        return 16;
    case GLINT_DTYPE_Q6_K:
        return 18;
    case GLINT_DTYPE_BF16:
        break;
    }
    return 32;
}

// "28B", "1.9B", "741K": at least two digits.
static void size_label(char *text, size_t room, uint64_t n_values) {
    static const struct {
        double unit;
        char letter;
    } scales[] = {{1e12, 'T'}, {1e9, 'B'}, {1e6, 'M'}, {1e3, 'K'}};
    int i = 0;
    while (i < 3 && (double)n_values <= scales[i].unit)
        i++;
    double scaled = (double)n_values / scales[i].unit;
    snprintf(text, room, "%.*f%c", scaled < 9.5 ? 1 : 0, scaled, scales[i].letter);
}

// The folder's last name, without slashes at its end.
static struct glint_view folder_name(const char *folder) {
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    size_t start = n;
    while (start > 0 && folder[start - 1] != '/')
        start--;
    return (struct glint_view){folder + start, n - start};
}

void glint_convert_put_general(const struct glint_convert *convert,
                               const struct glint_convert_plan *plan,
                               struct glint_gguf_writer *writer, const char *architecture,
                               const char *kind) {
    char label[32];
    struct glint_view name = folder_name(convert->folder);
    size_label(label, sizeof label, plan->n_values);
    glint_gguf_put_text(writer, "general.architecture", architecture);
    glint_gguf_put_text(writer, "general.type", kind);
    if (glint_view_is(name, ".") || glint_view_is(name, ".."))
        glint_gguf_put_text(writer, "general.name", "Muse Glimmer");
    else
        glint_gguf_put_string(writer, "general.name", name);
    glint_gguf_put_text(writer, "general.size_label", label);
    glint_gguf_put_u32(writer, "general.quantization_version", 2);
    glint_gguf_put_u32(writer, "general.file_type", file_type_of(convert->dtype->dtype));
}

enum glint_status glint_convert_check_used(const struct glint_convert *convert, const char *except,
                                           struct glint_error *err) {
    for (size_t i = 0; i < convert->weights->n_tensors; i++) {
        const struct glint_safetensors_tensor *tensor = &convert->weights->tensors[i];
        if (convert->used[i])
            continue;
        if (except && strncmp(tensor->name, except, strlen(except)) == 0)
            continue;
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: tensor %s: found one that this model does not have",
                          glint_safetensors_file(convert->weights, tensor->i_file), tensor->name);
    }
    return GLINT_OK;
}

enum glint_status glint_convert_text_ids(const struct glint_convert *convert,
                                         struct glint_convert_ids *ids, struct glint_error *err) {
    struct glint_convert_scope text;
    *ids = (struct glint_convert_ids){0, -1, -1, -1, -1, -1};
    GLINT_TRY(glint_convert_inner(&convert->top, "text_config", "text_config.", &text, err));
    GLINT_TRY(glint_convert_u32(&text, "vocab_size", &ids->n_tokens, err));
    GLINT_TRY(glint_convert_id(&text, "bos_token_id", &ids->bos, err));
    GLINT_TRY(glint_convert_id(&text, "eos_token_id", &ids->eos, err));
    GLINT_TRY(glint_convert_id(&text, "pad_token_id", &ids->pad, err));
    GLINT_TRY(glint_convert_id(&convert->top, "image_token_id", &ids->image, err));
    return glint_convert_id(&convert->top, "video_token_id", &ids->video, err);
}

// ---- the whole command
// ------------------------------------------------------------------------------

// The output may not be one of the folder's small files either.
static enum glint_status refuse_folder_files(const char *out, const char *folder,
                                             struct glint_error *err) {
    static const char *const names[] = {"config.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "chat_template.jinja",
                                        "preprocessor_config.json",
                                        "generation_config.json",
                                        "model.safetensors.index.json"};
    enum glint_status status = GLINT_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == GLINT_OK; i++) {
        char *path = glint_convert_path(folder, names[i]);
        status = path ? glint_output_file_refuse_input(out, path, err)
                      : glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", folder);
        glint_free(path);
    }
    return status;
}

// Neither output may be a file that is read, nor both the same.
static enum glint_status check_outputs(const struct glint_convert *convert,
                                       const struct glint_convert_request *request,
                                       struct glint_error *err) {
    const char *outs[] = {request->out, request->mmproj};
    for (size_t i = 0; i < 2; i++) {
        if (!outs[i])
            continue;
        GLINT_TRY(refuse_folder_files(outs[i], convert->folder, err));
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

static enum glint_status convert_open_folder(struct glint_convert *convert,
                                             const struct glint_convert_request *request,
                                             struct glint_error *err) {
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
    if (request->target)
        return glint_fail(err, GLINT_E_ARG,
                          "%s: is a text model, which has its own vocabulary, "
                          "not that of a --target",
                          request->folder);
    if (request->mmproj)
        GLINT_TRY(glint_convert_vision(convert, NULL, err)); // before anything is written
    GLINT_TRY(glint_convert_text(convert, request->out, err));
    if (!request->mmproj)
        return GLINT_OK;
    GLINT_TRY(glint_output_file_refuse_input(request->mmproj, request->out, err));
    return glint_convert_vision(convert, request->mmproj, err);
}

enum glint_status glint_convert_run(const struct glint_convert_request *request,
                                    size_t *n_kept_bf16, struct glint_error *err) {
    struct glint_convert convert = {.dtype = request->dtype, .quiet = request->quiet};
    enum glint_status status = convert_open_folder(&convert, request, err);
    *n_kept_bf16 = convert.n_kept_bf16;
    glint_convert_close(&convert);
    return status;
}
