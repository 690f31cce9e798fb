// SPDX-License-Identifier: Apache-2.0
// select.c — quickselect and quicksort without recursion.
// Pivots come from a small generator with a fixed seed: the result does not depend on them, and
// no order of logits is slow.
#include "sample/select.h"

enum { SMALL = 16 };

static void sort_small(uint64_t *keys, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

// Splits n > 1 distinct keys at a pivot: returns how many are in front, none of them larger than
// any behind; 0 < result < n.
static size_t partition(uint64_t *keys, size_t n, uint64_t *random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    uint64_t pivot = keys[(size_t)(*random >> 33) % n];
    size_t low = 0, high = n - 1;
    for (;;) {
        while (keys[low] < pivot)
            low++;
        while (keys[high] > pivot)
            high--;
        if (low >= high)
            break;
        uint64_t swap = keys[low];
        keys[low] = keys[high];
        keys[high] = swap;
    }
    return low > 0 ? low : 1; // the pivot stands at low; alone in front when it is the smallest
}

void glint_select_front(uint64_t *keys, size_t n, size_t k) {
    uint64_t random = 1;
    while (k > 0 && k < n && n > SMALL) {
        size_t n_front = partition(keys, n, &random);
        if (k <= n_front) {
            n = n_front;
        } else {
            keys += n_front;
            n -= n_front;
            k -= n_front;
        }
    }
    if (k > 0 && k < n)
        sort_small(keys, n);
}

void glint_select_sort(uint64_t *keys, size_t n) {
    // The larger part waits, so at most log2(n) parts wait at a time.
    struct {
        uint64_t *keys;
        size_t n;
    } waiting[64];
    size_t n_waiting = 0;
    uint64_t random = 1;
    for (;;) {
        while (n > SMALL) {
            size_t n_front = partition(keys, n, &random);
            uint64_t *back = keys + n_front;
            size_t n_back = n - n_front;
            if (n_front < n_back) {
                waiting[n_waiting].keys = back;
                waiting[n_waiting++].n = n_back;
                n = n_front;
            } else {
                waiting[n_waiting].keys = keys;
                waiting[n_waiting++].n = n_front;
                keys = back;
                n = n_back;
            }
        }
        sort_small(keys, n);
        if (n_waiting == 0)
            return;
        keys = waiting[--n_waiting].keys;
        n = waiting[n_waiting].n;
    }
}
