// SPDX-License-Identifier: Apache-2.0
// available_memory.c — /proc and control groups on Linux; elsewhere nothing is known.
#include "base/available_memory.h"

#include "base/cgroup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 2200 };

// The smaller of the two; 0 stands for unknown.
static uint64_t least(uint64_t a, uint64_t b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static FILE *open_in(const char *folder, const char *name) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "r");
}

static bool read_number(const char *folder, const char *name, uint64_t *value) {
    FILE *file = open_in(folder, name); // "max" where there is no limit
    bool good = file && fscanf(file, "%" SCNu64, value) == 1;
    if (file)
        fclose(file);
    return good;
}

// Bytes of a group that are pages of files, which the system takes back when it must. Version 1
// has the sums over the groups below under names of their own.
static uint64_t file_pages(const char *folder) {
    uint64_t own = 0, total = 0, value;
    char key[64];
    FILE *file = open_in(folder, "memory.stat");
    while (file && fscanf(file, "%63s %" SCNu64, key, &value) == 2) {
        bool below = strncmp(key, "total_", 6) == 0;
        const char *name = below ? key + 6 : key;
        if (strcmp(name, "inactive_file") == 0 || strcmp(name, "active_file") == 0)
            *(below ? &total : &own) += value;
    }
    if (file)
        fclose(file);
    return total ? total : own;
}

static void look_at_group(void *context, const char *folder) {
    uint64_t *available = context, limit, used;
    if (!(read_number(folder, "memory.max", &limit) &&
          read_number(folder, "memory.current", &used)) &&
        !(read_number(folder, "memory.limit_in_bytes", &limit) &&
          read_number(folder, "memory.usage_in_bytes", &used)))
        return;
    uint64_t pages = file_pages(folder);
    used -= pages < used ? pages : used;
    *available = least(*available, limit > used ? limit - used : 1);
}

uint64_t glint_available_memory_in(const char *root) {
    uint64_t available = 0;
    char line[256], folder[1024];
    snprintf(folder, sizeof folder, "%s/proc", root);
    FILE *file = open_in(folder, "meminfo");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &available) == 1)
            break;
    if (file)
        fclose(file);
    available *= 1024;
    glint_cgroup_each(root, "memory", look_at_group, &available);
    return available;
}

uint64_t glint_available_memory(uint64_t n_mapped) {
    uint64_t available = glint_available_memory_in(""), n_pages;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        !read_number("/proc/self", "statm", &n_pages))
        return available;
    uint64_t taken = n_pages * (uint64_t)sysconf(_SC_PAGESIZE);
    taken -= n_mapped < taken ? n_mapped : taken;
    return least(available, limit.rlim_cur > taken ? limit.rlim_cur - taken : 1);
}
