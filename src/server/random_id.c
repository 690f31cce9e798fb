// SPDX-License-Identifier: Apache-2.0
// random_id.c — the system's random bytes as letters and digits.
#include "server/random_id.h"

#include "base/status.h"

#include <string.h>
#include <sys/random.h>

static void fill(void *out, size_t n) {
    size_t done = 0;
    while (done < n) { // small requests are not cut short once the system has booted
        ssize_t got = getrandom((char *)out + done, n - done, 0);
        if (got > 0)
            done += (size_t)got;
    }
}

uint64_t glint_random_u64(void) {
    uint64_t value;
    fill(&value, sizeof value);
    return value;
}

void glint_random_id(char out[GLINT_RANDOM_ID_BYTES], const char *prefix) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char bytes[GLINT_RANDOM_ID_CHARS];
    size_t n = strlen(prefix);
    GLINT_ASSERT(n + GLINT_RANDOM_ID_CHARS < GLINT_RANDOM_ID_BYTES);
    memcpy(out, prefix, n);
    fill(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) // 62 does not divide 256: a bias of no consequence
        out[n++] = letters[bytes[i] % (sizeof letters - 1)];
    out[n] = 0;
}
