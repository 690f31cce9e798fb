// SPDX-License-Identifier: Apache-2.0
// safetensors.c — opening a file, or the shards that an index lists, as one set of tensors.
#include "format/safetensors.h"

#include "base/alloc.h"
#include "format/json.h"
#include "format/mapped_file.h"
#include "format/safetensors_parse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_INDEX_BYTES = 100 * 1000 * 1000, MAX_FILES = 1024 };

// What the caller's struct glint_safetensors is the head of.
struct open_set {
    struct glint_safetensors view; // first: close casts back
    char *path;
    struct glint_safetensors_part *parts;     // [view.n_files]
    struct glint_mapped_file **files;         // [view.n_files]; NULL entries for bytes in memory
    struct glint_safetensors_tensor *tensors; // [view.n_tensors]; names belong to the parts
};

static enum glint_status no_memory(const char *path, struct glint_error *err) {
    return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
}

static char *join_path(const char *folder, size_t n_folder, const char *name) {
    size_t n_name = strlen(name);
    char *path = glint_alloc(n_folder + n_name + 2, 1);
    if (!path)
        return NULL;
    memcpy(path, folder, n_folder);
    if (n_folder > 0 && path[n_folder - 1] != '/')
        path[n_folder++] = '/';
    memcpy(path + n_folder, name, n_name + 1);
    return path;
}

// ---- one set
// ----------------------------------------------------------------------------------------

static enum glint_status new_set(struct open_set **out, const char *path, size_t n_files,
                                 struct glint_error *err) {
    struct open_set *set = glint_alloc(1, sizeof *set);
    *out = set;
    if (!set)
        return no_memory(path, err);
    set->path = glint_strndup(path, strlen(path));
    set->view.path = set->path;
    set->parts = glint_alloc(n_files, sizeof *set->parts);
    set->files = glint_alloc(n_files, sizeof *set->files);
    if (!set->path || !set->parts || !set->files)
        return no_memory(path, err);
    set->view.n_files = n_files;
    return GLINT_OK;
}

static enum glint_status open_part(struct open_set *set, size_t i, const char *path,
                                   struct glint_error *err) {
    struct glint_safetensors_part *part = &set->parts[i];
    GLINT_TRY(glint_mapped_file_open(&set->files[i], path, err));
    part->path = set->files[i]->path;
    part->data = set->files[i]->data;
    part->n = set->files[i]->n;
    return glint_safetensors_part_parse(part, err);
}

static int compare_names(const void *a, const void *b) {
    const struct glint_safetensors_tensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum glint_status join_parts(struct open_set *set, struct glint_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < set->view.n_files; i++)
        n += set->parts[i].n_tensors;
    set->tensors = glint_alloc(n, sizeof *set->tensors);
    if (!set->tensors)
        return no_memory(set->path, err);
    for (size_t i = 0; i < set->view.n_files; i++)
        for (size_t j = 0; j < set->parts[i].n_tensors; j++) {
            struct glint_safetensors_tensor *tensor = &set->tensors[set->view.n_tensors++];
            *tensor = set->parts[i].tensors[j];
            tensor->i_file = (uint32_t)i;
            set->view.n_tensor_bytes += tensor->n_bytes;
        }
    qsort(set->tensors, n, sizeof *set->tensors, compare_names);
    for (size_t i = 1; i < n; i++)
        if (compare_names(&set->tensors[i - 1], &set->tensors[i]) == 0)
            return glint_fail(err, GLINT_E_FORMAT, "%s: tensor %s: found twice, expected once",
                              set->parts[set->tensors[i].i_file].path, set->tensors[i].name);
    set->view.tensors = set->tensors;
    return GLINT_OK;
}

// ---- the index
// --------------------------------------------------------------------------------------

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// A plain name beside the index: nothing that could point elsewhere.
static bool is_file_name(struct glint_view name) {
    return name.n > 0 && name.n < 256 && name.data[0] != '.' && !memchr(name.data, '/', name.n) &&
           !memchr(name.data, 0, name.n);
}

// The different file names of a weight map, sorted, borrowed from the document; glint_free *out.
static enum glint_status list_files(const struct glint_json *map, const char *path,
                                    const char ***out, size_t *n_out, struct glint_error *err) {
    if (!glint_json_is(map, GLINT_JSON_OBJECT) || map->n == 0)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: weight_map: found %s, expected an object with tensors", path,
                          glint_json_kind_name(map));
    const char **names = glint_alloc(map->n, sizeof *names);
    if (!names)
        return no_memory(path, err);
    *out = names;
    size_t n = 0;
    for (const struct glint_json *m = map->child; m; m = m->next) {
        if (m->kind != GLINT_JSON_STRING || !is_file_name(m->text))
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: weight_map: %.100s: expected the name of a file beside it", path,
                              m->key.data);
        names[n++] = m->text.data;
    }
    qsort(names, n, sizeof *names, compare_texts);
    size_t n_kept = 1;
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i], names[n_kept - 1]) != 0)
            names[n_kept++] = names[i];
    if (n_kept > MAX_FILES)
        return glint_fail(err, GLINT_E_LIMIT,
                          "%s: weight_map: found %zu files, expected at most "
                          "%d",
                          path, n_kept, MAX_FILES);
    *n_out = n_kept;
    return GLINT_OK;
}

// Index and shards must list the same tensors in the same files.
static enum glint_status check_map(const struct open_set *set, const struct glint_json *map,
                                   struct glint_error *err) {
    for (const struct glint_json *m = map->child; m; m = m->next) {
        const struct glint_safetensors_tensor *tensor =
            memchr(m->key.data, 0, m->key.n) ? NULL
                                             : glint_safetensors_find(&set->view, m->key.data);
        const char *file = tensor ? strrchr(set->parts[tensor->i_file].path, '/') : NULL;
        if (tensor && !file)
            file = set->parts[tensor->i_file].path;
        else if (file)
            file++;
        if (!tensor || strcmp(file, m->text.data) != 0)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: weight_map: %.200s: found in %s, expected in %s", set->path,
                              m->key.data, file ? file : "no shard", m->text.data);
    }
    if (map->n != set->view.n_tensors)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: weight_map: found %u tensors, expected the %zu of the shards",
                          set->path, map->n, set->view.n_tensors);
    return GLINT_OK;
}

static enum glint_status open_listed(struct open_set **set, const char *path,
                                     const struct glint_json *map, struct glint_error *err) {
    const char **names = NULL;
    size_t n_names = 0;
    enum glint_status status = list_files(map, path, &names, &n_names, err);
    if (status == GLINT_OK)
        status = new_set(set, path, n_names, err);
    const char *slash = strrchr(path, '/');
    size_t n_folder = slash ? (size_t)(slash + 1 - path) : 0;
    for (size_t i = 0; i < n_names && status == GLINT_OK; i++) {
        char *shard = join_path(path, n_folder, names[i]);
        status = shard ? open_part(*set, i, shard, err) : no_memory(path, err);
        glint_free(shard);
    }
    glint_free(names);
    GLINT_TRY(status);
    GLINT_TRY(join_parts(*set, err));
    return check_map(*set, map, err);
}

static enum glint_status open_index(struct open_set **set, const char *path,
                                    struct glint_error *err) {
    struct glint_json_doc *doc;
    GLINT_TRY(glint_json_load(&doc, path, MAX_INDEX_BYTES, err));
    const struct glint_json *map = glint_json_get(glint_json_root(doc), "weight_map");
    enum glint_status status = open_listed(set, path, map, err);
    glint_json_close(&doc);
    return status;
}

// ---- opening
// ----------------------------------------------------------------------------------------

static enum glint_status open_single(struct open_set **set, const char *path,
                                     struct glint_error *err) {
    GLINT_TRY(new_set(set, path, 1, err));
    GLINT_TRY(open_part(*set, 0, path, err));
    return join_parts(*set, err);
}

static enum glint_status open_file(struct open_set **set, const char *path,
                                   struct glint_error *err) {
    size_t n = strlen(path);
    bool index = n > 5 && strcmp(path + n - 5, ".json") == 0;
    return index ? open_index(set, path, err) : open_single(set, path, err);
}

static enum glint_status open_folder(struct open_set **set, const char *path,
                                     struct glint_error *err) {
    static const char *const names[] = {"model.safetensors.index.json", "model.safetensors"};
    struct stat info;
    enum glint_status status = GLINT_E_NOTFOUND;
    for (size_t i = 0; i < 2; i++) {
        char *file = join_path(path, strlen(path), names[i]);
        if (!file)
            return no_memory(path, err);
        bool exists = stat(file, &info) == 0;
        if (exists)
            status = open_file(set, file, err);
        glint_free(file);
        if (exists)
            return status;
    }
    return glint_fail(err, status, "%s: found neither %s nor %s, expected one of them", path,
                      names[0], names[1]);
}

enum glint_status glint_safetensors_open(struct glint_safetensors **out, const char *path,
                                         struct glint_error *err) {
    struct stat info;
    struct open_set *set = NULL;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    enum glint_status status = folder ? open_folder(&set, path, err) : open_file(&set, path, err);
    *out = set ? &set->view : NULL;
    if (status != GLINT_OK)
        glint_safetensors_close(out);
    return status;
}

enum glint_status glint_safetensors_open_memory(struct glint_safetensors **out, const void *data,
                                                size_t n, const char *name,
                                                struct glint_error *err) {
    struct open_set *set = NULL;
    enum glint_status status = new_set(&set, name, 1, err);
    if (status == GLINT_OK) {
        set->parts[0] = (struct glint_safetensors_part){.path = set->path, .data = data, .n = n};
        status = glint_safetensors_part_parse(&set->parts[0], err);
    }
    if (status == GLINT_OK)
        status = join_parts(set, err);
    *out = set ? &set->view : NULL;
    if (status != GLINT_OK)
        glint_safetensors_close(out);
    return status;
}

void glint_safetensors_close(struct glint_safetensors **out) {
    if (!*out)
        return;
    struct open_set *set = (struct open_set *)*out;
    for (size_t i = 0; i < set->view.n_files; i++) {
        glint_safetensors_part_fini(&set->parts[i]);
        glint_mapped_file_close(&set->files[i]);
    }
    glint_free(set->parts);
    glint_free(set->files);
    glint_free(set->tensors);
    glint_free(set->path);
    glint_free(set);
    *out = NULL;
}

const struct glint_safetensors_tensor *glint_safetensors_find(const struct glint_safetensors *set,
                                                              const char *name) {
    const struct glint_safetensors_tensor wanted = {.name = name};
    return bsearch(&wanted, set->tensors, set->n_tensors, sizeof wanted, compare_names);
}

const char *glint_safetensors_file(const struct glint_safetensors *set, uint32_t i_file) {
    const struct open_set *open = (const struct open_set *)set;
    return open->parts[i_file].path;
}

void glint_safetensors_done_with(const struct glint_safetensors *set,
                                 const struct glint_safetensors_tensor *tensor, uint64_t offset,
                                 uint64_t n) {
    const struct open_set *open = (const struct open_set *)set;
    const struct glint_mapped_file *file = open->files[tensor->i_file];
    if (file)
        glint_mapped_file_advise(file, (uint64_t)(tensor->data - file->data) + offset, n,
                                 GLINT_ADVICE_UNUSED);
}
