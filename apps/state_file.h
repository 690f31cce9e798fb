// SPDX-License-Identifier: Apache-2.0
// state_file.h — where the program keeps what outlives it: $XDG_STATE_HOME/glint, or
// ~/.local/state/glint.
#ifndef GLINT_APPS_STATE_FILE_H
#define GLINT_APPS_STATE_FILE_H

#include <stdbool.h>

enum { GLINT_STATE_PATH = 4096 };

// The path of a file there; its folder is created, readable by its owner alone. False (path empty)
// when there is no home, or the folder cannot be made.
bool glint_state_file(char path[GLINT_STATE_PATH], const char *name);

#endif
