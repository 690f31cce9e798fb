// SPDX-License-Identifier: Apache-2.0
// cpu_count.c — how many CPUs this process may use: the smallest of its affinity mask and of the
// quotas of its control groups (Linux, cgroup v2). More threads than that only take turns.
// The affinity call needs _GNU_SOURCE, which is why it has a file of its own.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/pool.h"

#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>

enum { PATH_BYTES = 2200, MASK_SETS = 8 }; // masks of up to 8,192 CPUs

static int affinity_count(void) {
    cpu_set_t mask[MASK_SETS];
    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, mask) != 0)
        return 0;
    return CPU_COUNT_S(sizeof mask, mask);
}

// Lowers *least to the CPUs that the cpu.max of this group allows, rounded up; 0: no limit.
static void look_at_group(void *context, const char *folder) {
    int *least = context;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    long long quota = 0, period = 0;
    int n = fscanf(file, "%lld %lld", &quota, &period); // "max 100000" matches nothing
    fclose(file);
    if (n != 2 || quota <= 0 || period <= 0)
        return;
    int count = (int)((quota - 1) / period + 1);
    if (*least == 0 || count < *least)
        *least = count;
}

static int cgroup_count(void) {
    int least = 0;
    glint_cgroup_each("", "cpu", look_at_group, &least);
    return least;
}
#else
static int affinity_count(void) {
    return 0;
}

static int cgroup_count(void) {
    return 0;
}
#endif

int glint_cpu_count(void) {
    int count = affinity_count();
    if (count <= 0)
        count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int quota = cgroup_count();
    if (quota > 0 && quota < count)
        count = quota;
    return count > 0 ? count : 1;
}
