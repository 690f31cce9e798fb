// SPDX-License-Identifier: Apache-2.0
// mapped_file.c — mmap of a whole file. The descriptor is closed at once: the mapping holds the
// file.
#include "format/mapped_file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// What an empty file's data points to: mmap refuses zero bytes.
static const uint8_t nothing[1] = {0};

static enum glint_status fail_errno(struct glint_error *err, const char *path, const char *what) {
    int code = errno;
    enum glint_status status = code == ENOENT || code == ENOTDIR ? GLINT_E_NOTFOUND : GLINT_E_IO;
    return glint_fail(err, status, "%s: %s: %s", path, what, strerror(code));
}

static enum glint_status map_open_file(struct glint_mapped_file *file, int fd,
                                       struct glint_error *err) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fail_errno(err, file->path, "cannot tell its size");
    if (!S_ISREG(info.st_mode))
        return glint_fail(err, GLINT_E_ARG, "%s: found a %s, expected a regular file", file->path,
                          S_ISDIR(info.st_mode) ? "folder" : "device or pipe");
    file->n = (uint64_t)info.st_size;
    if (file->n > SIZE_MAX / 2)
        return glint_fail(err, GLINT_E_LIMIT, "%s: found %llu bytes, more than fits in memory",
                          file->path, (unsigned long long)file->n);
    if (file->n == 0) {
        file->data = nothing;
        return GLINT_OK;
    }
    void *data = mmap(NULL, (size_t)file->n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED && errno == ENOMEM)
        return glint_fail(err, GLINT_E_NOMEM,
                          "%s: found %llu bytes, more than this process may map (`ulimit -v`?)",
                          file->path, (unsigned long long)file->n);
    if (data == MAP_FAILED)
        return fail_errno(err, file->path, "cannot map it");
    file->data = data;
    return GLINT_OK;
}

enum glint_status glint_mapped_file_open(struct glint_mapped_file **out, const char *path,
                                         struct glint_error *err) {
    *out = NULL;
    struct glint_mapped_file *file = glint_alloc(1, sizeof *file);
    if (file)
        file->path = glint_strndup(path, strlen(path));
    if (!file || !file->path) {
        glint_mapped_file_close(&file);
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
    }
    // Non-blocking: opening a pipe nobody writes to must fail below, not hang here.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum glint_status status =
        fd < 0 ? fail_errno(err, path, "cannot open") : map_open_file(file, fd, err);
    if (fd >= 0)
        close(fd);
    if (status != GLINT_OK) {
        glint_mapped_file_close(&file);
        return status;
    }
    *out = file;
    return GLINT_OK;
}

void glint_mapped_file_close(struct glint_mapped_file **file) {
    if (!*file)
        return;
    if ((*file)->data && (*file)->data != nothing)
        munmap((void *)(uintptr_t)(*file)->data, (size_t)(*file)->n);
    glint_free((void *)(uintptr_t)(*file)->path);
    glint_free(*file);
    *file = NULL;
}

void glint_mapped_file_advise(const struct glint_mapped_file *file, uint64_t offset, uint64_t n,
                              enum glint_advice advice) {
    static const int codes[] = {POSIX_MADV_NORMAL, POSIX_MADV_SEQUENTIAL, POSIX_MADV_RANDOM,
                                POSIX_MADV_WILLNEED, MADV_DONTNEED};
    if (file->data == nothing || offset >= file->n)
        return;
    if (n > file->n - offset)
        n = file->n - offset;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = offset / page * page;
    uint64_t end = offset + n;
    if (advice == GLINT_ADVICE_UNUSED) { // only pages that are wholly inside
        first = (offset + page - 1) / page * page;
        end = end == file->n ? end : end / page * page;
    }
    if (first < end) // a refused hint changes nothing
        (void)madvise((void *)(uintptr_t)(file->data + first), (size_t)(end - first),
                      codes[advice]);
}
