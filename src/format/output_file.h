// SPDX-License-Identifier: Apache-2.0
// output_file.h — a file that appears whole or not at all.
// Bytes go to "<path>.part" in the same folder; commit flushes them to the disk and renames.
// Until then whatever was at <path> is untouched; discard (and any failed commit) removes the
// partial file. A path that names a device or a pipe is written directly.
#ifndef GLINT_FORMAT_OUTPUT_FILE_H
#define GLINT_FORMAT_OUTPUT_FILE_H

#include "base/status.h"

struct glint_output_file;

// GLINT_E_BUSY when another process is writing the same partial file. On failure *file is NULL.
enum glint_status glint_output_file_open(struct glint_output_file **file, const char *path,
                                         struct glint_error *err);
// Only its owner may read the file. Nothing changes for a device or a pipe.
void glint_output_file_make_private(struct glint_output_file *file);
// Appends n bytes. After a failure (disk full, ...) only discard is useful.
enum glint_status glint_output_file_write(struct glint_output_file *file, const void *data,
                                          size_t n, struct glint_error *err);
uint64_t glint_output_file_size(const struct glint_output_file *file); // bytes written so far
// Flushes, renames and clears *file; on failure the partial file is removed and *file cleared.
enum glint_status glint_output_file_commit(struct glint_output_file **file,
                                           struct glint_error *err);
// Drops what was written; accepts NULL.
void glint_output_file_discard(struct glint_output_file **file);

// GLINT_E_ARG when output_path and input_path are the same existing file, under any name.
enum glint_status glint_output_file_refuse_input(const char *output_path, const char *input_path,
                                                 struct glint_error *err);

#endif
