// SPDX-License-Identifier: Apache-2.0
// default_model.h — the small model that ships with glint, for commands without -m.
#ifndef GLINT_APPS_DEFAULT_MODEL_H
#define GLINT_APPS_DEFAULT_MODEL_H

#include <stdbool.h>
#include <stddef.h>

// Path of a file that ships with glint ("glimmer-mini.gguf"): PREFIX/share/glint for an installed
// program, the source tree's models/ for one in a build folder. False when it is in neither.
bool glint_default_file(const char *name, char *path, size_t n);

#endif
