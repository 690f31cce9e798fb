// SPDX-License-Identifier: Apache-2.0
// state_file.c — paths among the user's state files (XDG Base Directory Specification).
#include "state_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!ok)
            return false;
    }
    return true;
}

bool glint_state_file(char path[GLINT_STATE_PATH], const char *name) {
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int n = -1;
    if (state && state[0] == '/')
        n = snprintf(path, GLINT_STATE_PATH, "%s/glint/%s", state, name);
    else if (home && home[0] == '/')
        n = snprintf(path, GLINT_STATE_PATH, "%s/.local/state/glint/%s", home, name);
    bool ok = n >= 0 && n < GLINT_STATE_PATH && make_folders(path);
    if (!ok)
        path[0] = 0;
    return ok;
}
