// SPDX-License-Identifier: Apache-2.0
// convert_folder.h — the parts of `glint convert`: one source folder, and one function for each
// kind of GGUF file made from it (model.md B tells keys, names and changes).
#ifndef GLINT_APPS_CONVERT_FOLDER_H
#define GLINT_APPS_CONVERT_FOLDER_H

#include "convert_config.h"
#include "convert_plan.h"
#include "convert_vocab.h"

// What the command line asks for.
struct glint_convert_request {
    const char *folder, *out;
    const char *mmproj; // NULL: no vision file
    const char *target; // of a drafter: NULL, or the file or folder whose vocabulary it shares
    const struct glint_dtype_info *dtype; // of matrices
    bool quiet;
};

// *n_kept_bf16: matrices whose rows do not divide into blocks of dtype. On failure no output file
// is changed, but for the text model's when only the vision file could not be written.
enum glint_status glint_convert_run(const struct glint_convert_request *request,
                                    size_t *n_kept_bf16, struct glint_error *err);

// An open official folder.
struct glint_convert {
    const char *folder;
    const struct glint_dtype_info *dtype; // of matrices
    bool quiet;
    char *config_path;
    struct glint_json_doc *config;
    struct glint_convert_scope top; // of config.json
    struct glint_safetensors *weights;
    bool *used;         // [weights->n_tensors]: became part of a file
    size_t n_kept_bf16; // matrices whose rows do not divide into blocks of dtype
};

enum glint_status glint_convert_open(struct glint_convert *convert, const char *folder,
                                     struct glint_error *err);
void glint_convert_close(struct glint_convert *convert);
struct glint_convert_plan glint_convert_plan_of(const struct glint_convert *convert);
// general.*: kind is "model" or "mmproj".
void glint_convert_put_general(const struct glint_convert *convert,
                               const struct glint_convert_plan *plan,
                               struct glint_gguf_writer *writer, const char *architecture,
                               const char *kind);
// Every tensor of the folder must have been used, but for names that start with `except` (may be
// NULL).
enum glint_status glint_convert_check_used(const struct glint_convert *convert, const char *except,
                                           struct glint_error *err);

// Vocabulary sizes and ids that config.json tells (-1: it does not).
enum glint_status glint_convert_text_ids(const struct glint_convert *convert,
                                         struct glint_convert_ids *ids, struct glint_error *err);

// Each plans, checks and writes one file. The vision file's tensors are planned before anything
// is written when both are made, so a fault in either leaves no file.
enum glint_status glint_convert_text(struct glint_convert *convert, const char *out,
                                     struct glint_error *err);
enum glint_status glint_convert_vision(struct glint_convert *convert, const char *out,
                                       struct glint_error *err);
// vocab_source: a GGUF file or a folder whose vocabulary the drafter shares; NULL: its own folder
// or the one above.
enum glint_status glint_convert_drafter(struct glint_convert *convert, const char *out,
                                        const char *vocab_source, struct glint_error *err);

#endif
