// SPDX-License-Identifier: Apache-2.0
// known_release.h — which published file a GGUF file is, judged by its exact size and tensors.
#ifndef GLINT_APPS_KNOWN_RELEASE_H
#define GLINT_APPS_KNOWN_RELEASE_H

#include "format/gguf.h"

// NULL when glint does not know it. Sizes tell releases apart; only a hash proves one.
const char *glint_known_release(const struct glint_gguf *gguf);

#endif
