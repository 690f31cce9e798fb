// SPDX-License-Identifier: Apache-2.0
// page_files.h — the files of src/server/page as the program holds them: a table that the build
// writes (cmake/embed_files.cmake).
#ifndef GLINT_SERVER_PAGE_FILES_H
#define GLINT_SERVER_PAGE_FILES_H

#include <stddef.h>

struct glint_page_file {
    const char *name; // in the folder
    const char *type; // for Content-Type
    const char *etag; // in quotes; of the content
    const unsigned char *data;
    size_t n;
};
extern const struct glint_page_file glint_page_files[]; // [glint_page_n_files]
extern const size_t glint_page_n_files;

#endif
