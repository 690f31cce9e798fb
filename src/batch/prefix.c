// SPDX-License-Identifier: Apache-2.0
// prefix.c — pages that know their tokens, checkpoints, and which of them to give up.
// Invariants: every complete page of a checkpoint is known: known[page].life is its life. Equal
// numbers of known pages mean equal units up to their ends, since a page is known together with the
// page before it; so two checkpoints are compared by pages and tails.
#include "batch/prefix.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

enum {
    ROWS = GLINT_KV_PAGE_ROWS,
    N_FORGOTTEN = 128,
    HALF_LIFE_MS = 300000, // of the chance that somebody asks for a checkpoint again
    NO_PAGE = -1,
};

struct known_page {
    uint64_t life; // 0: not known
    uint64_t group, hash;
    int32_t before; // the page before it
    uint64_t units[ROWS];
};

struct forgotten {
    uint64_t group, hash;
    int length;
};

struct glint_prefix {
    struct glint_kv *kv;
    int n_page;
    struct known_page *known; // [n_page]
    uint64_t *hashes;         // [n_page] scratch: of a text's pages
    struct glint_checkpoint *checkpoints[GLINT_PREFIX_MAX_CHECKPOINTS];
    int n;
    uint64_t n_evicted;
    struct forgotten forgotten[N_FORGOTTEN]; // the last n_evicted
};

enum glint_status glint_prefix_open(struct glint_prefix **out, struct glint_kv *kv,
                                    struct glint_error *err) {
    const struct glint_kv_plane *plane = glint_kv_plane(kv, false);
    *out = NULL;
    GLINT_REQUIRE(plane->n_layer > 0, err);
    struct glint_prefix *prefix = glint_alloc(1, sizeof *prefix);
    if (prefix) {
        size_t n = (size_t)plane->n_page;
        prefix->kv = kv;
        prefix->n_page = plane->n_page;
        prefix->known = glint_alloc(n, sizeof *prefix->known);
        prefix->hashes = glint_alloc(n, sizeof *prefix->hashes);
    }
    if (!prefix || !prefix->known || !prefix->hashes) {
        glint_prefix_close(&prefix);
        return glint_fail(err, GLINT_E_NOMEM, "cache: no memory for %d pages' tokens",
                          plane->n_page);
    }
    *out = prefix;
    return GLINT_OK;
}

static void free_checkpoint(struct glint_prefix *prefix, struct glint_checkpoint *checkpoint) {
    glint_kv_hold_close(prefix->kv, &checkpoint->hold);
    glint_free(checkpoint->tail);
    glint_free(checkpoint->more);
    glint_free(checkpoint);
}

void glint_prefix_close(struct glint_prefix **prefix_in) {
    struct glint_prefix *prefix = *prefix_in;
    *prefix_in = NULL;
    if (!prefix)
        return;
    for (int i = 0; i < prefix->n; i++)
        free_checkpoint(prefix, prefix->checkpoints[i]);
    glint_free(prefix->known);
    glint_free(prefix->hashes);
    glint_free(prefix);
}

// ---- hashes -------------------------------------------------------------------------------------

// Hashes only sort out what is not worth comparing: units decide, so a collision costs a chance and
// changes nothing.
static uint64_t hash_units(uint64_t hash, const uint64_t *units, int n) {
    for (int i = 0; i < n; i++) {
        hash = (hash ^ units[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static uint64_t hash_group(uint64_t group) {
    return hash_units(0x6a09e667f3bcc908u, &group, 1);
}

// ---- pages --------------------------------------------------------------------------------------

static bool is_known(const struct glint_prefix *prefix, int32_t page) {
    return prefix->known[page].life != 0 &&
           prefix->known[page].life == glint_kv_page_life(prefix->kv, page) &&
           glint_kv_page_refs(prefix->kv, false, page) > 0;
}

// A known page that says the same; NO_PAGE: none.
static int32_t find_twin(const struct glint_prefix *prefix, const struct known_page *page) {
    for (int32_t i = 0; i < prefix->n_page; i++) {
        const struct known_page *other = &prefix->known[i];
        if (other->hash == page->hash && other->group == page->group &&
            other->before == page->before && is_known(prefix, i) &&
            memcmp(other->units, page->units, sizeof page->units) == 0)
            return i;
    }
    return NO_PAGE;
}

// Makes the complete pages of the sequence known, and merges them with those known before.
static void learn_pages(struct glint_prefix *prefix, int i_sequence,
                        const struct glint_prefix_text *text) {
    int32_t before = NO_PAGE;
    for (int i = 0; i < text->n / ROWS; i++) {
        int32_t page = glint_kv_full_page(prefix->kv, i_sequence, i);
        const uint64_t *units = text->units + (size_t)i * ROWS;
        struct known_page *known = &prefix->known[page];
        if (!is_known(prefix, page) || known->before != before) {
            uint64_t hash =
                before == NO_PAGE ? hash_group(text->group) : prefix->known[before].hash;
            *known = (struct known_page){
                .group = text->group, .hash = hash_units(hash, units, ROWS), .before = before};
            memcpy(known->units, units, sizeof known->units);
            int32_t twin = find_twin(prefix, known);
            if (twin != NO_PAGE) {
                glint_kv_replace_full(prefix->kv, i_sequence, i, twin);
                page = twin;
            } else {
                known->life = glint_kv_page_life(prefix->kv, page);
            }
        }
        before = page;
    }
}

static int complete_pages(const struct glint_checkpoint *checkpoint) {
    return checkpoint->hold.length / ROWS;
}

// Units that begin both texts, of the first n_max; pages by hash, the rest one by one.
static int count_common(const struct glint_prefix *prefix,
                        const struct glint_checkpoint *checkpoint,
                        const struct glint_prefix_text *text) {
    int length = checkpoint->hold.length, n = length < text->n ? length : text->n;
    int low = 0, high = n / ROWS; // the first `low` pages are the same; pages from `high` on differ
    while (low < high) {
        int middle = (low + high) / 2;
        if (prefix->known[checkpoint->hold.page[middle]].hash == prefix->hashes[middle])
            low = middle + 1;
        else
            high = middle;
    }
    int common = low * ROWS;
    while (common < n && glint_prefix_unit(prefix, checkpoint, common) == text->units[common])
        common++;
    return common;
}

static bool has_same_units(const struct glint_prefix *prefix,
                           const struct glint_checkpoint *checkpoint,
                           const struct glint_prefix_text *text, int n) {
    int i = 0;
    for (; i < n / ROWS && i < complete_pages(checkpoint); i++)
        if (memcmp(prefix->known[checkpoint->hold.page[i]].units, text->units + (size_t)i * ROWS,
                   ROWS * sizeof(uint64_t)) != 0)
            return false;
    for (int k = i * ROWS; k < n; k++)
        if (glint_prefix_unit(prefix, checkpoint, k) != text->units[k])
            return false;
    return true;
}

uint64_t glint_prefix_unit(const struct glint_prefix *prefix,
                           const struct glint_checkpoint *checkpoint, int i) {
    int k = i / ROWS;
    return k < complete_pages(checkpoint) ? prefix->known[checkpoint->hold.page[k]].units[i % ROWS]
                                          : checkpoint->tail[i % ROWS];
}

// ---- checkpoints --------------------------------------------------------------------------------

// The first checkpoint's text begins the second's.
static bool begins(const struct glint_prefix *prefix, const struct glint_checkpoint *a,
                   const struct glint_checkpoint *b) {
    int n = complete_pages(a);
    if (a->group != b->group || a->hold.length > b->hold.length ||
        (n > 0 && a->hold.page[n - 1] != b->hold.page[n - 1]))
        return false;
    for (int i = n * ROWS; i < a->hold.length; i++)
        if (a->tail[i % ROWS] != glint_prefix_unit(prefix, b, i))
            return false;
    return true;
}

static bool frees_a_page(const struct glint_prefix *prefix, const struct glint_checkpoint *c) {
    for (int i = c->hold.n_full + c->hold.n_ring - 1; i >= 0; i--)
        if (glint_kv_page_refs(prefix->kv, i >= c->hold.n_full, c->hold.page[i]) == 1)
            return true;
    return false;
}

// Tokens that have to be evaluated again when it is asked for, times the chance that it is.
static double worth(const struct glint_prefix *prefix, const struct glint_checkpoint *checkpoint,
                    double now) {
    int before = 0;
    for (int i = 0; i < prefix->n; i++) {
        const struct glint_checkpoint *other = prefix->checkpoints[i];
        if (other != checkpoint && other->hold.length > before &&
            other->hold.length < checkpoint->hold.length && begins(prefix, other, checkpoint))
            before = other->hold.length;
    }
    return (checkpoint->hold.length - before) * exp2((checkpoint->used_ms - now) / HALF_LIFE_MS);
}

bool glint_prefix_evict(struct glint_prefix *prefix) {
    double now = glint_clock_ms(), least = 0;
    int chosen = -1;
    bool frees = false;
    for (int i = 0; i < prefix->n; i++) {
        bool would_free = frees_a_page(prefix, prefix->checkpoints[i]);
        double value = worth(prefix, prefix->checkpoints[i], now);
        if (chosen < 0 || (would_free && !frees) || (would_free == frees && value < least)) {
            chosen = i;
            frees = would_free;
            least = value;
        }
    }
    if (chosen < 0)
        return false;
    struct glint_checkpoint *checkpoint = prefix->checkpoints[chosen];
    prefix->forgotten[prefix->n_evicted++ % N_FORGOTTEN] =
        (struct forgotten){checkpoint->group, checkpoint->hash, checkpoint->hold.length};
    glint_prefix_drop(prefix, checkpoint);
    return true;
}

void glint_prefix_drop(struct glint_prefix *prefix, struct glint_checkpoint *checkpoint) {
    int i = 0;
    while (prefix->checkpoints[i] != checkpoint)
        i++;
    prefix->checkpoints[i] = prefix->checkpoints[--prefix->n];
    free_checkpoint(prefix, checkpoint);
}

uint64_t glint_prefix_more_bytes(const struct glint_prefix *prefix) {
    uint64_t n = 0;
    for (int i = 0; i < prefix->n; i++)
        n += prefix->checkpoints[i]->n_more;
    return n;
}

int glint_prefix_count(const struct glint_prefix *prefix) {
    return prefix->n;
}

uint64_t glint_prefix_evicted(const struct glint_prefix *prefix) {
    return prefix->n_evicted;
}

static struct glint_checkpoint *find_equal(const struct glint_prefix *prefix,
                                           const struct glint_checkpoint *checkpoint) {
    for (int i = 0; i < prefix->n; i++)
        if (prefix->checkpoints[i]->hold.length == checkpoint->hold.length &&
            begins(prefix, prefix->checkpoints[i], checkpoint))
            return prefix->checkpoints[i];
    return NULL;
}

enum glint_status glint_prefix_keep(struct glint_prefix *prefix, int i_sequence,
                                    const struct glint_prefix_text *text,
                                    struct glint_checkpoint **out, struct glint_error *err) {
    *out = NULL;
    GLINT_REQUIRE(text->n > 0 && glint_kv_can_truncate(prefix->kv, i_sequence, text->n), err);
    learn_pages(prefix, i_sequence, text);
    int n_tail = text->n % ROWS, at = text->n - n_tail;
    struct glint_checkpoint *made = glint_alloc(1, sizeof *made);
    if (!made)
        return glint_fail(err, GLINT_E_NOMEM, "cache: no memory for a checkpoint");
    made->group = text->group;
    made->tail = glint_alloc((size_t)n_tail, sizeof *made->tail);
    enum glint_status status =
        made->tail ? glint_kv_hold_open(prefix->kv, &made->hold, i_sequence, text->n, err)
                   : glint_fail(err, GLINT_E_NOMEM, "cache: no memory for a checkpoint");
    if (status != GLINT_OK) {
        free_checkpoint(prefix, made);
        return status;
    }
    memcpy(made->tail, text->units + at, (size_t)n_tail * sizeof *made->tail);
    uint64_t hash =
        at > 0 ? prefix->known[made->hold.page[at / ROWS - 1]].hash : hash_group(text->group);
    made->hash = hash_units(hash, made->tail, n_tail);
    struct glint_checkpoint *equal = find_equal(prefix, made);
    if (equal)
        free_checkpoint(prefix, made);
    else if (prefix->n == GLINT_PREFIX_MAX_CHECKPOINTS)
        glint_prefix_evict(prefix);
    if (!equal)
        prefix->checkpoints[prefix->n++] = made;
    *out = equal ? equal : made;
    (*out)->used_ms = glint_clock_ms();
    return GLINT_OK;
}

static void hash_text(struct glint_prefix *prefix, const struct glint_prefix_text *text) {
    uint64_t hash = hash_group(text->group);
    for (int i = 0; i < text->n / ROWS && i < prefix->n_page; i++)
        prefix->hashes[i] = hash = hash_units(hash, text->units + (size_t)i * ROWS, ROWS);
}

static int find_forgotten(const struct glint_prefix *prefix, const struct glint_prefix_text *text) {
    int longest = 0;
    for (int i = 0; i < N_FORGOTTEN; i++) {
        const struct forgotten *one = &prefix->forgotten[i];
        if (one->group != text->group || one->length <= longest || one->length > text->n)
            continue;
        int n_page = one->length / ROWS;
        uint64_t hash = n_page > 0 ? prefix->hashes[n_page - 1] : hash_group(text->group);
        if (hash_units(hash, text->units + (size_t)n_page * ROWS, one->length % ROWS) == one->hash)
            longest = one->length;
    }
    return longest;
}

struct glint_prefix_match glint_prefix_find(struct glint_prefix *prefix,
                                            const struct glint_prefix_text *text, int n_max) {
    struct glint_prefix_match match = {.checkpoint = NULL};
    double now = glint_clock_ms();
    hash_text(prefix, text);
    for (int i = 0; i < prefix->n; i++) {
        struct glint_checkpoint *checkpoint = prefix->checkpoints[i];
        if (checkpoint->group != text->group)
            continue;
        int common = count_common(prefix, checkpoint, text);
        int kept = common < n_max ? common : n_max;
        if (common > match.n_common) {
            match.closest = checkpoint;
            match.n_common = common;
        }
        if (common == checkpoint->hold.length)
            checkpoint->used_ms = now;
        if (kept > match.n_kept && glint_kv_hold_reaches(prefix->kv, &checkpoint->hold, kept)) {
            match.checkpoint = checkpoint;
            match.n_kept = kept;
        }
    }
    match.n_forgotten = find_forgotten(prefix, text);
    if (match.checkpoint && !has_same_units(prefix, match.checkpoint, text, match.n_kept)) {
        match.checkpoint = NULL; // a collision
        match.n_kept = 0;
    }
    if (match.checkpoint)
        match.checkpoint->used_ms = now;
    return match;
}
