// SPDX-License-Identifier: Apache-2.0
// gguf.c — opening a GGUF model: finds the shards, joins their tensors, builds the name indices
// and makes the checks that need all entries at once.
#include "format/gguf.h"

#include "base/alloc.h"
#include "format/gguf_parse.h"
#include "format/mapped_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the caller's struct glint_gguf is the head of.
struct open_gguf {
    struct glint_gguf view; // first: close casts back
    char *path;
    struct glint_gguf_part *parts;    // [n_parts]
    struct glint_mapped_file **files; // [n_parts]; NULL entries for bytes in memory
    size_t n_parts;
    struct glint_gguf_shard *shards;          // [n_parts]
    struct glint_gguf_tensor *tensors;        // [view.n_tensors]; names belong to the parts
    const struct glint_gguf_kv **by_key;      // [view.n_kvs] sorted
    const struct glint_gguf_tensor **by_name; // [view.n_tensors] sorted
};

typedef unsigned long long ull;

// ---- several entries against each other
// -----------------------------------------------------------

static int compare_kvs(const void *a, const void *b) {
    return strcmp((*(const struct glint_gguf_kv *const *)a)->key,
                  (*(const struct glint_gguf_kv *const *)b)->key);
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const struct glint_gguf_tensor *const *)a)->name,
                  (*(const struct glint_gguf_tensor *const *)b)->name);
}

static int compare_places(const void *a, const void *b) {
    const struct glint_gguf_tensor *x = *(const struct glint_gguf_tensor *const *)a;
    const struct glint_gguf_tensor *y = *(const struct glint_gguf_tensor *const *)b;
    if (x->i_shard != y->i_shard)
        return x->i_shard < y->i_shard ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static enum glint_status check_overlaps(struct open_gguf *open, struct glint_error *err) {
    const struct glint_gguf_tensor **sorted = open->by_name; // sorted by name afterwards
    qsort(sorted, open->view.n_tensors, sizeof *sorted, compare_places);
    for (size_t i = 1; i < open->view.n_tensors; i++) {
        const struct glint_gguf_tensor *a = sorted[i - 1], *b = sorted[i];
        if (a->i_shard == b->i_shard && b->offset - a->offset < a->n_bytes)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: tensor %s: found at byte %llu, expected after the end of %s at "
                              "byte %llu",
                              open->shards[b->i_shard].path, b->name, (ull)b->offset, a->name,
                              (ull)(a->offset + a->n_bytes));
    }
    return GLINT_OK;
}

static enum glint_status build_indices(struct open_gguf *open, struct glint_error *err) {
    struct glint_gguf *view = &open->view;
    open->by_key = glint_alloc(view->n_kvs, sizeof *open->by_key);
    open->by_name = glint_alloc(view->n_tensors, sizeof *open->by_name);
    if (!open->by_key || !open->by_name)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", open->path);
    for (size_t i = 0; i < view->n_kvs; i++)
        open->by_key[i] = &view->kvs[i];
    for (size_t i = 0; i < view->n_tensors; i++)
        open->by_name[i] = &view->tensors[i];
    qsort(open->by_key, view->n_kvs, sizeof *open->by_key, compare_kvs);
    for (size_t i = 1; i < view->n_kvs; i++)
        if (compare_kvs(&open->by_key[i - 1], &open->by_key[i]) == 0)
            return glint_fail(err, GLINT_E_FORMAT, "%s: key %s: found twice, expected once",
                              open->shards[0].path, open->by_key[i]->key);
    GLINT_TRY(check_overlaps(open, err));
    qsort(open->by_name, view->n_tensors, sizeof *open->by_name, compare_names);
    for (size_t i = 1; i < view->n_tensors; i++)
        if (compare_names(&open->by_name[i - 1], &open->by_name[i]) == 0)
            return glint_fail(err, GLINT_E_FORMAT, "%s: tensor %s: found twice, expected once",
                              open->shards[open->by_name[i]->i_shard].path, open->by_name[i]->name);
    return GLINT_OK;
}

// ---- joining the parts
// ----------------------------------------------------------------------------

static enum glint_status join_parts(struct open_gguf *open, struct glint_error *err) {
    struct glint_gguf *view = &open->view;
    size_t n_tensors = 0;
    for (size_t i = 0; i < open->n_parts; i++)
        n_tensors += open->parts[i].n_tensors;
    open->shards = glint_alloc(open->n_parts, sizeof *open->shards);
    open->tensors = glint_alloc(n_tensors, sizeof *open->tensors);
    if (!open->shards || !open->tensors)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", open->path);
    for (size_t i = 0; i < open->n_parts; i++) {
        const struct glint_gguf_part *part = &open->parts[i];
        open->shards[i] =
            (struct glint_gguf_shard){part->path, part->n, part->data_offset, part->n_tensors};
        view->n_bytes += part->n;
        for (size_t j = 0; j < part->n_tensors; j++) {
            struct glint_gguf_tensor *tensor = &open->tensors[view->n_tensors++];
            *tensor = part->tensors[j];
            tensor->i_shard = (uint32_t)i;
            view->n_tensor_bytes += tensor->n_bytes;
        }
    }
    view->path = open->path;
    view->version = open->parts[0].version;
    view->alignment = open->parts[0].alignment;
    view->kvs = open->parts[0].kvs;
    view->n_kvs = open->parts[0].n_kvs;
    view->tensors = open->tensors;
    view->shards = open->shards;
    view->n_shards = open->n_parts;
    return build_indices(open, err);
}

// ---- split models
// ---------------------------------------------------------------------------------

// The integer value of a split.* key, or `missing`; malformed values give -1.
static int64_t split_value(const struct glint_gguf_part *part, const char *key, int64_t missing) {
    for (size_t i = 0; i < part->n_kvs; i++) {
        int64_t value;
        if (strcmp(part->kvs[i].key, key) != 0)
            continue;
        bool good = !part->kvs[i].is_array && glint_gguf_item_i64(&part->kvs[i], 0, &value);
        return good && value >= 0 ? value : -1;
    }
    return missing;
}

static enum glint_status check_split(const struct open_gguf *open, size_t i_part, int64_t n_parts,
                                     struct glint_error *err) {
    const struct glint_gguf_part *part = &open->parts[i_part];
    int64_t count = split_value(part, "split.count", 1);
    int64_t number = split_value(part, "split.no", -1);
    if (count != n_parts)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: key split.count: found %lld, expected %lld as in the other shards",
                          part->path, (long long)count, (long long)n_parts);
    if (number != (int64_t)i_part)
        return glint_fail(err, GLINT_E_FORMAT, "%s: key split.no: found %lld, expected %zu",
                          part->path, (long long)number, i_part);
    return GLINT_OK;
}

static enum glint_status check_split_tensors(const struct open_gguf *open,
                                             struct glint_error *err) {
    int64_t n_tensors = 0;
    for (size_t i = 0; i < open->n_parts; i++)
        n_tensors += (int64_t)open->parts[i].n_tensors;
    for (size_t i = 0; i < open->n_parts; i++) {
        int64_t count = split_value(&open->parts[i], "split.tensors.count", n_tensors);
        if (count != n_tensors)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: key split.tensors.count: found %lld, expected %lld, the sum "
                              "over the shards",
                              open->parts[i].path, (long long)count, (long long)n_tensors);
    }
    return GLINT_OK;
}

// Length of what precedes "-0000i-of-0000n.gguf" in path; 0 when the name is not of that form.
static size_t split_prefix(const char *path, int64_t n_parts) {
    char ending[40];
    int n_ending = snprintf(ending, sizeof ending, "-of-%05lld.gguf", (long long)n_parts);
    size_t n = strlen(path), n_tail = (size_t)n_ending + 6; // "-00001"
    if (n <= n_tail || strcmp(path + n - (size_t)n_ending, ending) != 0 || path[n - n_tail] != '-')
        return 0;
    for (size_t i = n - n_tail + 1; i < n - (size_t)n_ending; i++)
        if (path[i] < '0' || path[i] > '9')
            return 0;
    return n - n_tail;
}

// ---- opening
// ----------------------------------------------------------------------------------------

static struct open_gguf *new_open(const char *path, size_t n_parts) {
    struct open_gguf *open = glint_alloc(1, sizeof *open);
    if (!open)
        return NULL;
    open->path = glint_strndup(path, strlen(path));
    open->parts = glint_alloc(n_parts, sizeof *open->parts);
    open->files = glint_alloc(n_parts, sizeof *open->files);
    if (open->path && open->parts && open->files) {
        open->n_parts = n_parts;
        return open;
    }
    struct glint_gguf *view = &open->view;
    glint_gguf_close(&view);
    return NULL;
}

static enum glint_status open_part(struct open_gguf *open, size_t i, const char *path,
                                   struct glint_error *err) {
    struct glint_gguf_part *part = &open->parts[i];
    GLINT_TRY(glint_mapped_file_open(&open->files[i], path, err));
    part->path = open->files[i]->path;
    part->data = open->files[i]->data;
    part->n = (size_t)open->files[i]->n;
    return glint_gguf_part_parse(part, err);
}

static enum glint_status open_shards(struct open_gguf *open, size_t n_prefix,
                                     struct glint_error *err) {
    size_t room = n_prefix + 48;
    char *path = glint_alloc(room, 1);
    if (!path)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", open->path);
    enum glint_status status = GLINT_OK;
    for (size_t i = 0; i < open->n_parts && status == GLINT_OK; i++) {
        snprintf(path, room, "%.*s-%05zu-of-%05zu.gguf", (int)n_prefix, open->path, i + 1,
                 open->n_parts);
        status = open_part(open, i, path, err);
        if (status == GLINT_OK)
            status = check_split(open, i, (int64_t)open->n_parts, err);
    }
    glint_free(path);
    GLINT_TRY(status);
    return check_split_tensors(open, err);
}

// Replaces *open, which holds one shard, by one that holds all of them.
static enum glint_status open_split(struct open_gguf **open, int64_t n_parts,
                                    struct glint_error *err) {
    const char *path = (*open)->path;
    if (n_parts < 0 || n_parts > GLINT_GGUF_MAX_SHARDS)
        return glint_fail(err, GLINT_E_FORMAT, "%s: key split.count: found no number from 0 to %d",
                          path, GLINT_GGUF_MAX_SHARDS);
    size_t n_prefix = split_prefix(path, n_parts);
    if (n_prefix == 0)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: is one of %lld shards, expected a file name that ends in "
                          "-<number>-of-%05lld.gguf",
                          path, (long long)n_parts, (long long)n_parts);
    struct open_gguf *all = new_open(path, (size_t)n_parts);
    if (!all)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
    struct glint_gguf *one = &(*open)->view;
    glint_gguf_close(&one);
    *open = all;
    return open_shards(all, n_prefix, err);
}

static enum glint_status finish(struct open_gguf *open, enum glint_status status,
                                struct glint_gguf **gguf, struct glint_error *err) {
    struct glint_gguf *view = &open->view;
    if (status == GLINT_OK)
        status = join_parts(open, err);
    if (status != GLINT_OK)
        glint_gguf_close(&view);
    *gguf = view;
    return status;
}

enum glint_status glint_gguf_open(struct glint_gguf **gguf, const char *path,
                                  struct glint_error *err) {
    *gguf = NULL;
    struct open_gguf *open = new_open(path, 1);
    if (!open)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
    enum glint_status status = open_part(open, 0, path, err);
    if (status == GLINT_OK) {
        int64_t n_parts = split_value(&open->parts[0], "split.count", 1);
        if (n_parts != 0 && n_parts != 1)
            status = open_split(&open, n_parts, err);
    }
    return finish(open, status, gguf, err);
}

enum glint_status glint_gguf_open_memory(struct glint_gguf **gguf, const void *data, size_t n,
                                         const char *name, struct glint_error *err) {
    *gguf = NULL;
    GLINT_REQUIRE((uintptr_t)data % 8 == 0, err);
    struct open_gguf *open = new_open(name, 1);
    if (!open)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", name);
    open->parts[0] = (struct glint_gguf_part){.path = open->path, .data = data, .n = n};
    enum glint_status status = glint_gguf_part_parse(&open->parts[0], err);
    if (status == GLINT_OK && split_value(&open->parts[0], "split.count", 1) > 1)
        status = glint_fail(err, GLINT_E_UNSUPPORTED,
                            "%s: key split.count: found a shard, expected a whole model", name);
    return finish(open, status, gguf, err);
}

void glint_gguf_close(struct glint_gguf **gguf) {
    if (!*gguf)
        return;
    struct open_gguf *open = (struct open_gguf *)*gguf;
    for (size_t i = 0; i < open->n_parts; i++) {
        glint_gguf_part_fini(&open->parts[i]);
        glint_mapped_file_close(&open->files[i]);
    }
    glint_free(open->parts);
    glint_free(open->files);
    glint_free(open->shards);
    glint_free(open->tensors);
    glint_free(open->by_key);
    glint_free(open->by_name);
    glint_free(open->path);
    glint_free(open);
    *gguf = NULL;
}

// ---- looking up
// -------------------------------------------------------------------------------------

const struct glint_gguf_kv *glint_gguf_find(const struct glint_gguf *gguf, const char *key) {
    const struct open_gguf *open = (const struct open_gguf *)gguf;
    const struct glint_gguf_kv wanted = {.key = key}, *at = &wanted;
    const struct glint_gguf_kv **found =
        bsearch(&at, open->by_key, gguf->n_kvs, sizeof at, compare_kvs);
    return found ? *found : NULL;
}

const struct glint_gguf_tensor *glint_gguf_find_tensor(const struct glint_gguf *gguf,
                                                       const char *name) {
    const struct open_gguf *open = (const struct open_gguf *)gguf;
    const struct glint_gguf_tensor wanted = {.name = name}, *at = &wanted;
    const struct glint_gguf_tensor **found =
        bsearch(&at, open->by_name, gguf->n_tensors, sizeof at, compare_names);
    return found ? *found : NULL;
}

void glint_gguf_advise(const struct glint_gguf *gguf, const struct glint_gguf_tensor *tensor,
                       int advice) {
    const struct open_gguf *open = (const struct open_gguf *)gguf;
    const struct glint_mapped_file *file = open->files[tensor->i_shard];
    if (file)
        glint_mapped_file_advise(file, tensor->offset, tensor->n_bytes, advice);
}
