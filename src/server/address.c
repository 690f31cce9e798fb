// SPDX-License-Identifier: Apache-2.0
// address.c — which addresses belong to the public internet (IANA's special-purpose registries).
#include "server/remote_file.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

struct block {
    uint8_t head[16];
    int n_bits;
};

// Blocks of IPv4 that lead to this machine, to private networks, or to nobody.
static const struct block blocks4[] = {
    {{0}, 8},             // this network
    {{10}, 8},            // private
    {{100, 64}, 10},      // shared by carriers
    {{127}, 8},           // this machine
    {{169, 254}, 16},     // link-local; also where clouds keep their secrets
    {{172, 16}, 12},      // private
    {{192, 0, 0}, 24},    // protocols
    {{192, 0, 2}, 24},    // documentation
    {{192, 88, 99}, 24},  // 6to4 relays
    {{192, 168}, 16},     // private
    {{198, 18}, 15},      // benchmarks
    {{198, 51, 100}, 24}, // documentation
    {{203, 0, 113}, 24},  // documentation
    {{224}, 3},           // multicast, reserved, broadcast
};

// Of IPv6 only 2000::/3 is public, and of that not these.
static const struct block blocks6[] = {
    {{0x20, 0x01, 0x00}, 23},       // protocols, Teredo among them
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, // documentation
    {{0x20, 0x02}, 16},             // 6to4, which holds an IPv4 address
    {{0x3f, 0xff}, 20},             // documentation
};

static bool is_in(const uint8_t *address, const struct block *block) {
    for (int bit = 0; bit < block->n_bits; bit++)
        if (((address[bit / 8] ^ block->head[bit / 8]) >> (7 - bit % 8) & 1) != 0)
            return false;
    return true;
}

static bool is_public4(const uint8_t *address) {
    for (size_t i = 0; i < sizeof blocks4 / sizeof *blocks4; i++)
        if (is_in(address, &blocks4[i]))
            return false;
    return true;
}

static bool is_public6(const uint8_t *address) {
    static const struct block mapped = {{[10] = 0xff, [11] = 0xff}, 96};
    static const struct block translated = {{0x00, 0x64, 0xff, 0x9b}, 96};
    static const struct block global = {{0x20}, 3};
    if (is_in(address, &mapped) || is_in(address, &translated))
        return is_public4(address + 12);
    for (size_t i = 0; i < sizeof blocks6 / sizeof *blocks6; i++)
        if (is_in(address, &blocks6[i]))
            return false;
    return is_in(address, &global);
}

bool glint_address_is_public(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        uint8_t bytes[4];
        memcpy(&in, address, sizeof in);
        memcpy(bytes, &in.sin_addr, sizeof bytes);
        return is_public4(bytes);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        uint8_t bytes[16];
        memcpy(&in, address, sizeof in);
        memcpy(bytes, &in.sin6_addr, sizeof bytes);
        return is_public6(bytes);
    }
    return false;
}
