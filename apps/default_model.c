// SPDX-License-Identifier: Apache-2.0
// default_model.c — looks around the program's own file.
#include "default_model.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

enum { MAX_PARENTS = 4 };

// The program's own path; false when the system does not tell.
static bool own_path(char *path, size_t n) {
#ifdef __APPLE__
    uint32_t size = (uint32_t)n;
    return _NSGetExecutablePath(path, &size) == 0;
#else
    ssize_t length = readlink("/proc/self/exe", path, n - 1);
    if (length <= 0)
        return false;
    path[length] = 0;
    return true;
#endif
}

// Cuts the last part of a path off.
static bool to_parent(char *folder) {
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = 0;
    return true;
}

bool glint_default_file(const char *name, char *path, size_t n) {
    char folder[4096];
    if (!own_path(folder, sizeof folder) || !to_parent(folder))
        return false;
    int length = snprintf(path, n, "%s/../share/glint/%s", folder, name);
    if (length > 0 && (size_t)length < n && access(path, R_OK) == 0)
        return true;
    for (int i = 0; i < MAX_PARENTS && to_parent(folder); i++) {
        length = snprintf(path, n, "%s/models/%s", folder, name);
        if (length > 0 && (size_t)length < n && access(path, R_OK) == 0)
            return true;
    }
    return false;
}
