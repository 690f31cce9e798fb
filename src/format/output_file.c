// SPDX-License-Identifier: Apache-2.0
// output_file.c — write beside, flush, rename.
// The partial file is locked while it is written, so that two processes cannot mix their bytes.
#include "format/output_file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct glint_output_file {
    int fd;
    char *path;    // where it will be
    char *partial; // where it is; NULL when written directly
    uint64_t n;    // bytes written
};

static enum glint_status fail_errno(struct glint_error *err, const char *path, const char *what) {
    int code = errno;
    enum glint_status status = code == ENOENT || code == ENOTDIR ? GLINT_E_NOTFOUND : GLINT_E_IO;
    if (code == EWOULDBLOCK)
        status = GLINT_E_BUSY;
    return glint_fail(err, status, "%s: %s: %s", path, what, strerror(code));
}

// The file that a symbolic link names is replaced, not the link. glint_free the result.
static char *resolve(const char *path) {
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode))
        return glint_strndup(path, strlen(path));
    char *target = glint_alloc(PATH_MAX, 1);
    if (target && !realpath(path, target)) { // a link to nothing is replaced itself
        glint_free(target);
        target = glint_strndup(path, strlen(path));
    }
    return target;
}

static char *with_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path), n_suffix = strlen(suffix);
    char *joined = glint_alloc(n + n_suffix + 1, 1);
    if (joined) {
        memcpy(joined, path, n);
        memcpy(joined + n, suffix, n_suffix + 1);
    }
    return joined;
}

// False when the file behind fd got another name between open and lock: a writer has finished it.
static bool is_still_named(int fd, const char *path) {
    struct stat open, named;
    return fstat(fd, &open) == 0 && stat(path, &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

static enum glint_status open_partial(struct glint_output_file *file, struct glint_error *err) {
    file->partial = with_suffix(file->path, ".part");
    if (!file->partial)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", file->path);
    // No O_TRUNC: the bytes of a running writer must survive until the lock is ours.
    file->fd = open(file->partial, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file->fd < 0)
        return fail_errno(err, file->partial, "cannot create");
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0) {
        enum glint_status status = fail_errno(err, file->partial, "another process writes it");
        glint_free(file->partial);
        file->partial = NULL; // not ours to remove
        return status;
    }
    if (!is_still_named(file->fd, file->partial)) {
        glint_free(file->partial);
        file->partial = NULL;
        return glint_fail(err, GLINT_E_BUSY, "%s: another process has just written it", file->path);
    }
    if (ftruncate(file->fd, 0) != 0)
        return fail_errno(err, file->partial, "cannot empty it");
    return GLINT_OK;
}

enum glint_status glint_output_file_open(struct glint_output_file **out, const char *path,
                                         struct glint_error *err) {
    *out = NULL;
    struct stat info;
    if (path[0] == 0)
        return glint_fail(err, GLINT_E_ARG, "output: found an empty name, expected a file name");
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return glint_fail(err, GLINT_E_ARG, "%s: found a folder, expected a file name", path);
    struct glint_output_file *file = glint_alloc(1, sizeof *file);
    if (file) {
        file->fd = -1;
        file->path = resolve(path);
    }
    enum glint_status status = GLINT_OK;
    if (!file || !file->path) {
        status = glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
    } else if (exists && !S_ISREG(info.st_mode)) {
        file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
        if (file->fd < 0)
            status = fail_errno(err, path, "cannot open");
    } else {
        status = open_partial(file, err);
    }
    if (status != GLINT_OK) {
        glint_output_file_discard(&file);
        return status;
    }
    *out = file;
    return GLINT_OK;
}

void glint_output_file_make_private(struct glint_output_file *file) {
    if (file->partial)
        fchmod(file->fd, 0600);
}

enum glint_status glint_output_file_write(struct glint_output_file *file, const void *data,
                                          size_t n, struct glint_error *err) {
    const char *at = data;
    while (n > 0) {
        ssize_t written = write(file->fd, at, n > INT_MAX ? INT_MAX : n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            if (written == 0)
                errno = ENOSPC;
            int code = errno;
            return glint_fail(err, GLINT_E_IO, "%s: cannot write after byte %llu: %s",
                              file->partial ? file->partial : file->path,
                              (unsigned long long)file->n, strerror(code));
        }
        at += written;
        n -= (size_t)written;
        file->n += (uint64_t)written;
    }
    return GLINT_OK;
}

uint64_t glint_output_file_size(const struct glint_output_file *file) {
    return file->n;
}

// A rename survives a crash only when the folder's entry reached the disk too. Some file systems
// cannot flush a folder; the data itself is safe by then, so that is not an error.
static void flush_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? glint_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
    int fd = open(folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    glint_free(folder);
}

static enum glint_status finish(struct glint_output_file *file, struct glint_error *err) {
    if (!file->partial) { // a device or a pipe: nothing to flush or rename
        int fd = file->fd;
        file->fd = -1;
        return close(fd) == 0 ? GLINT_OK : fail_errno(err, file->path, "cannot finish writing");
    }
    if (fsync(file->fd) != 0)
        return fail_errno(err, file->partial, "cannot finish writing");
    if (rename(file->partial, file->path) != 0)
        return fail_errno(err, file->path, "cannot rename the finished file to it");
    glint_free(file->partial);
    file->partial = NULL;
    flush_folder_of(file->path);
    return GLINT_OK;
}

enum glint_status glint_output_file_commit(struct glint_output_file **file,
                                           struct glint_error *err) {
    enum glint_status status = finish(*file, err);
    glint_output_file_discard(file);
    return status;
}

void glint_output_file_discard(struct glint_output_file **file) {
    if (!*file)
        return;
    if ((*file)->partial && (*file)->fd >= 0)
        (void)unlink((*file)->partial);
    if ((*file)->fd >= 0)
        close((*file)->fd);
    glint_free((*file)->partial);
    glint_free((*file)->path);
    glint_free(*file);
    *file = NULL;
}

enum glint_status glint_output_file_refuse_input(const char *output_path, const char *input_path,
                                                 struct glint_error *err) {
    struct stat output, input;
    if (stat(output_path, &output) != 0 || stat(input_path, &input) != 0)
        return GLINT_OK;
    if (output.st_dev == input.st_dev && output.st_ino == input.st_ino && S_ISREG(output.st_mode))
        return glint_fail(err, GLINT_E_ARG, "%s: is the input file %s, expected another output",
                          output_path, input_path);
    return GLINT_OK;
}
