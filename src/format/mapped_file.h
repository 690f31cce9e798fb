// SPDX-License-Identifier: Apache-2.0
// mapped_file.h — a whole file as read-only memory.
// The mapping keeps the file's contents alive when its name is removed or replaced. A file that
// another program shortens while it is mapped makes reads past the new end fatal (SIGBUS): files
// must be replaced by rename, as output_file.h does, never rewritten in place.
#ifndef GLINT_FORMAT_MAPPED_FILE_H
#define GLINT_FORMAT_MAPPED_FILE_H

#include "base/status.h"

struct glint_mapped_file {
    const uint8_t *data; // [n], page aligned; not NULL, also for an empty file
    uint64_t n;          // bytes
    const char *path;    // owned copy of what the caller named
};

enum glint_advice {
    GLINT_ADVICE_NORMAL,
    GLINT_ADVICE_SEQUENTIAL, // read once from front to back
    GLINT_ADVICE_RANDOM,
    GLINT_ADVICE_SOON,   // start reading it in now
    GLINT_ADVICE_UNUSED, // its pages may be dropped; they come back from the file when read
};

// Fails with GLINT_E_NOTFOUND when there is no such file, GLINT_E_ARG for a folder or a device,
// GLINT_E_IO otherwise. On failure *file is NULL.
enum glint_status glint_mapped_file_open(struct glint_mapped_file **file, const char *path,
                                         struct glint_error *err);
void glint_mapped_file_close(struct glint_mapped_file **file);
// A hint about bytes [offset, offset + n); never fails, may do nothing.
void glint_mapped_file_advise(const struct glint_mapped_file *file, uint64_t offset, uint64_t n,
                              enum glint_advice advice);

#endif
