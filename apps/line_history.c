// SPDX-License-Identifier: Apache-2.0
// line_history.c — libedit's history and its file.
#include "line_history.h"

#include "state_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HISTORY_ENTRIES = 1000 };

struct glint_line_history {
    History *lines;
    char path[GLINT_STATE_PATH]; // "" for none
};

static void save(struct glint_line_history *kept) {
    char temporary[sizeof kept->path + 8];
    HistEvent event;
    if (!kept->path[0])
        return;
    snprintf(temporary, sizeof temporary, "%s.new", kept->path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return;
    }
    bool ok = history(kept->lines, &event, H_SAVE_FP, file) >= 0;
    ok = fclose(file) == 0 && ok;
    if (!ok || rename(temporary, kept->path) != 0)
        unlink(temporary);
}

struct glint_line_history *glint_line_history_open(void) {
    struct glint_line_history *kept = calloc(1, sizeof *kept);
    HistEvent event;
    if (kept)
        kept->lines = history_init();
    if (!kept || !kept->lines) {
        free(kept);
        return NULL;
    }
    history(kept->lines, &event, H_SETSIZE, HISTORY_ENTRIES);
    history(kept->lines, &event, H_SETUNIQUE, 1);
    glint_state_file(kept->path, "history");
    if (kept->path[0])
        history(kept->lines, &event, H_LOAD, kept->path);
    return kept;
}

void glint_line_history_close(struct glint_line_history **kept) {
    if (!*kept)
        return;
    history_end((*kept)->lines);
    free(*kept);
    *kept = NULL;
}

void glint_line_history_attach(struct glint_line_history *kept, EditLine *edit) {
    el_set(edit, EL_HIST, history, kept->lines);
}

void glint_line_history_add(struct glint_line_history *kept, const char *text) {
    HistEvent event;
    history(kept->lines, &event, H_ENTER, text);
    save(kept);
}
