// SPDX-License-Identifier: Apache-2.0
// cgroup.c — reads /proc/self/cgroup and walks up. Inside a container the path may be the host's,
// which does not exist here: its folders hold no files then, and the root has the limits.
#include "base/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 1024 };

static bool has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == 0))
            return true;
    }
    return false;
}

void glint_cgroup_each(const char *root, const char *controller, glint_cgroup_fn visit,
                       void *context) {
    char line[PATH_BYTES], folder[2 * PATH_BYTES];
    snprintf(folder, sizeof folder, "%s/proc/self/cgroup", root);
    FILE *file = fopen(folder, "r");
    while (file && fgets(line, sizeof line, file)) { // "4:memory:/a/b" or, version 2, "0::/a/b"
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        bool second = list[1] == 0;
        if (!second && !has_word(list + 1, controller))
            continue;
        for (;;) {
            snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s%s", root, second ? "" : "/",
                     second ? "" : controller, group);
            visit(context, folder);
            char *slash = strrchr(group, '/');
            if (!slash)
                break;
            *slash = 0;
        }
    }
    if (file)
        fclose(file);
}
