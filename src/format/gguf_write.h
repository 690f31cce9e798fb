// SPDX-License-Identifier: Apache-2.0
// gguf_write.h — writing a GGUF version 3 file whose tensor data never sits in memory at once.
// Order of use: put keys and add tensors (any order, kept in the file); begin; data, in the
// order the tensors were added; commit. The put and add functions cannot fail by themselves: the
// first problem (memory, a bad name, a key put twice) is remembered and reported by begin.
// The file appears under its name only at commit (output_file.h).
#ifndef GLINT_FORMAT_GGUF_WRITE_H
#define GLINT_FORMAT_GGUF_WRITE_H

#include "format/gguf.h"

struct glint_gguf_writer;

enum glint_status glint_gguf_writer_open(struct glint_gguf_writer **writer,
                                         struct glint_error *err);
// Removes the partial file if there is one; accepts NULL.
void glint_gguf_writer_discard(struct glint_gguf_writer **writer);

void glint_gguf_put_u32(struct glint_gguf_writer *writer, const char *key, uint32_t value);
void glint_gguf_put_f32(struct glint_gguf_writer *writer, const char *key, float value);
void glint_gguf_put_bool(struct glint_gguf_writer *writer, const char *key, bool value);
void glint_gguf_put_string(struct glint_gguf_writer *writer, const char *key,
                           struct glint_view value);
void glint_gguf_put_text(struct glint_gguf_writer *writer, const char *key, const char *value);
// Copies a value of an open file, type and all.
void glint_gguf_put_kv(struct glint_gguf_writer *writer, const struct glint_gguf_kv *kv);
void glint_gguf_put_u32s(struct glint_gguf_writer *writer, const char *key, const uint32_t *values,
                         uint64_t n);
void glint_gguf_put_i32s(struct glint_gguf_writer *writer, const char *key, const int32_t *values,
                         uint64_t n);
void glint_gguf_put_f32s(struct glint_gguf_writer *writer, const char *key, const float *values,
                         uint64_t n);
void glint_gguf_put_bools(struct glint_gguf_writer *writer, const char *key, const bool *values,
                          uint64_t n);
// A string array of n items, to be followed by exactly n calls of put_item.
void glint_gguf_put_strings(struct glint_gguf_writer *writer, const char *key, uint64_t n);
void glint_gguf_put_item(struct glint_gguf_writer *writer, struct glint_view item);

// dims: fastest first, [n_dims], 1..4; dims[0] a multiple of the type's block length.
void glint_gguf_add_tensor(struct glint_gguf_writer *writer, const char *name, uint32_t type_id,
                           uint32_t n_dims, const uint64_t *dims);

// Opens <path>.part and writes everything before the tensor data.
enum glint_status glint_gguf_writer_begin(struct glint_gguf_writer *writer, const char *path,
                                          struct glint_error *err);
// The next n bytes of tensor data: pieces of any size, but none that spans two tensors. Padding
// is added by the writer.
enum glint_status glint_gguf_writer_data(struct glint_gguf_writer *writer, const void *data,
                                         size_t n, struct glint_error *err);
uint64_t glint_gguf_writer_size(const struct glint_gguf_writer *writer); // whole file, after begin
// Every byte of every tensor must have been given. Clears *writer, whatever the outcome.
enum glint_status glint_gguf_writer_commit(struct glint_gguf_writer **writer,
                                           struct glint_error *err);

#endif
