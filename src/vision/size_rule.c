// SPDX-License-Identifier: Apache-2.0
// size_rule.c — see size_rule.h. Several candidates can be equally near the picture's shape (all
// the square ones for a square picture); the official code then takes the first in the order of a
// Python set of pairs, so that order is reproduced here.
#include "vision/size_rule.h"

#include <math.h>
#include <stdbool.h>

enum { N_SLOT = 8 }; // of a new Python set

static uint64_t rotate_left(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

// CPython's hash of a pair of small integers.
static uint64_t hash_of(struct glint_token_grid grid) {
    const uint64_t prime1 = 11400714785074694791u, prime2 = 14029467366897019727u,
                   prime5 = 2870177450012600261u;
    const uint64_t items[2] = {(uint64_t)grid.rows, (uint64_t)grid.cols};
    uint64_t acc = prime5;
    for (int i = 0; i < 2; i++)
        acc = rotate_left(acc + items[i] * prime2, 31) * prime1;
    return acc + (2 ^ (prime5 ^ 3527539u));
}

struct pair_set {
    struct glint_token_grid grid[N_SLOT];
    bool used[N_SLOT];
};

static void insert(struct pair_set *set, struct glint_token_grid grid) {
    uint64_t perturb = hash_of(grid), slot = perturb % N_SLOT;
    while (set->used[slot]) {
        if (set->grid[slot].rows == grid.rows && set->grid[slot].cols == grid.cols)
            return;
        perturb >>= 5;
        slot = (5 * slot + 1 + perturb) % N_SLOT;
    }
    set->grid[slot] = grid;
    set->used[slot] = true;
}

static int64_t at_least_one(double x) {
    return x >= 1 ? (int64_t)x : 1;
}

struct glint_token_grid glint_token_grid_of(int64_t height, int64_t width, int unit,
                                            int64_t max_tokens) {
    double a = (double)height / unit, b = (double)width / unit, cap = (double)max_tokens;
    double shape = (double)height / (double)width;
    if (a * b > cap) {
        double r = b / a;
        a = sqrt(cap / r);
        b = a * r;
    }
    struct pair_set set = {.used = {false}};
    for (int k = 0; k < 4; k++) {
        double i = k / 2 ? ceil(a) : floor(a), j = k % 2 ? ceil(b) : floor(b);
        if (i >= 1 && j >= 1 && i * j <= cap)
            insert(&set, (struct glint_token_grid){(int64_t)i, (int64_t)j});
    }
    // nearbyint rounds halves to even, as Python's round does.
    struct glint_token_grid best = {at_least_one(nearbyint(a)), at_least_one(nearbyint(b))};
    double least = INFINITY;
    for (int s = 0; s < N_SLOT; s++) {
        if (!set.used[s])
            continue;
        double distance = fabs((double)set.grid[s].rows / (double)set.grid[s].cols - shape);
        if (distance < least) {
            least = distance;
            best = set.grid[s];
        }
    }
    return best;
}
