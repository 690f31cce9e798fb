// SPDX-License-Identifier: Apache-2.0
// guard.h — who may ask: API keys and the Host header.
#ifndef GLINT_SERVER_GUARD_H
#define GLINT_SERVER_GUARD_H

#include "base/buffer.h"

#include <stdint.h>

// Index of the key that `given` is, -1 when it is none. The time depends on the lengths alone.
int glint_guard_find_key(const char *const *keys, size_t n_keys, const char *given);
// The key out of "Bearer KEY" (any case, any number of blanks); NULL for another scheme.
const char *glint_guard_bearer(const char *authorization);
// True when a Host header names this machine's loopback, or is `host` itself: a page from elsewhere
// whose name was pointed at 127.0.0.1 sends its own name. NULL (HTTP/1.0) is refused.
bool glint_guard_host_is_local(const char *header, const char *host);

#endif
