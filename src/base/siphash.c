// SPDX-License-Identifier: Apache-2.0
// siphash.c — eight bytes at a time.
#include "base/siphash.h"

#include <string.h>

static uint64_t turn(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

static void mix(uint64_t v[4], int rounds) {
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = turn(v[1], 13) ^ v[0];
        v[3] = turn(v[3], 16) ^ v[2];
        v[0] = turn(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = turn(v[1], 17) ^ v[2];
        v[3] = turn(v[3], 21) ^ v[0];
        v[2] = turn(v[2], 32);
    }
}

static void take(struct glint_siphash *hash, const uint8_t *p) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word |= (uint64_t)p[i] << 8 * i;
    hash->v[3] ^= word;
    mix(hash->v, 2);
    hash->v[0] ^= word;
}

void glint_siphash_init(struct glint_siphash *hash, uint64_t key0, uint64_t key1) {
    *hash = (struct glint_siphash){.v = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du,
                                         key0 ^ 0x6c7967656e657261u, key1 ^ 0x7465646279746573u}};
}

void glint_siphash_add(struct glint_siphash *hash, const void *data, size_t n) {
    const uint8_t *p = data;
    while (n > 0) {
        size_t have = hash->n % 8, room = 8 - have;
        if (have == 0 && n >= 8) {
            take(hash, p);
            room = 8;
        } else {
            room = n < room ? n : room;
            memcpy(hash->tail + have, p, room);
            if (have + room == 8)
                take(hash, hash->tail);
        }
        hash->n += room;
        p += room;
        n -= room;
    }
}

uint64_t glint_siphash_end(struct glint_siphash *hash) {
    memset(hash->tail + hash->n % 8, 0, 8 - hash->n % 8);
    hash->tail[7] = (uint8_t)hash->n;
    take(hash, hash->tail);
    hash->v[2] ^= 0xff;
    mix(hash->v, 4);
    return hash->v[0] ^ hash->v[1] ^ hash->v[2] ^ hash->v[3];
}
