// SPDX-License-Identifier: Apache-2.0
// guard.c — comparing keys without telling by time, and names of the loopback.
#include "server/guard.h"

#include <string.h>
#include <strings.h>

// Looks at every byte given, whatever they are.
static bool is_key(const char *key, const char *given) {
    size_t n_key = strlen(key), n = strlen(given);
    unsigned char differ = n_key != n || n == 0;
    for (size_t i = 0; i < n && n_key != 0; i++)
        differ |= (unsigned char)(given[i] ^ key[i % n_key]);
    return differ == 0;
}

int glint_guard_find_key(const char *const *keys, size_t n_keys, const char *given) {
    int found = -1;
    for (size_t i = 0; i < n_keys; i++) // all of them, so that time does not tell which
        found = is_key(keys[i], given) ? (int)i : found;
    return found;
}

const char *glint_guard_bearer(const char *authorization) {
    if (strncasecmp(authorization, "Bearer", 6) != 0 || authorization[6] != ' ')
        return NULL;
    authorization += 6;
    while (*authorization == ' ')
        authorization++;
    return authorization;
}

// Host without its port; brackets of IPv6 go.
static struct glint_view host_name(const char *header) {
    const char *end;
    if (header[0] == '[') {
        end = strchr(header, ']');
        return end ? (struct glint_view){header + 1, (size_t)(end - header - 1)}
                   : glint_view_of("");
    }
    end = strrchr(header, ':');
    bool one = end && strchr(header, ':') == end; // several: a bare IPv6 address
    return one ? (struct glint_view){header, (size_t)(end - header)} : glint_view_of(header);
}

static bool is_word(struct glint_view name, const char *word) {
    return name.n == strlen(word) && strncasecmp(name.data, word, name.n) == 0;
}

static bool is_loopback_name(struct glint_view name) {
    static const char suffix[] = ".localhost";
    size_t n = sizeof suffix - 1;
    bool below = name.n > n && strncasecmp(name.data + name.n - n, suffix, n) == 0;
    bool digits = glint_view_starts(name, "127.");
    for (size_t i = 0; digits && i < name.n; i++)
        digits = name.data[i] == '.' || (name.data[i] >= '0' && name.data[i] <= '9');
    return below || digits || is_word(name, "localhost") || is_word(name, "::1");
}

bool glint_guard_host_is_local(const char *header, const char *host) {
    if (!header)
        return false;
    struct glint_view name = host_name(header);
    return is_loopback_name(name) || (name.n != 0 && is_word(name, host));
}
