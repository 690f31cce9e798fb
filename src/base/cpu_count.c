// SPDX-License-Identifier: Apache-2.0
// cpu_count.c — how many CPUs this process may use: the smallest of its affinity mask and of the
// quotas of its control groups (Linux, cgroup v2). More threads than that only take turns.
// The affinity call needs _GNU_SOURCE, which is why it has a file of its own.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/pool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>

enum { PATH_BYTES = 1024, MASK_SETS = 8 }; // masks of up to 8,192 CPUs

static int affinity_count(void) {
    cpu_set_t mask[MASK_SETS];
    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, mask) != 0)
        return 0;
    return CPU_COUNT_S(sizeof mask, mask);
}

// CPUs the cpu.max of one group allows, rounded up; 0: no limit there.
static int quota_of(const char *group) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    long long quota = 0, period = 0;
    int n = fscanf(file, "%lld %lld", &quota, &period); // "max 100000" matches nothing
    fclose(file);
    if (n != 2 || quota <= 0 || period <= 0)
        return 0;
    return (int)((quota - 1) / period + 1);
}

// Smallest quota from the process's group up to the root; 0: none.
static int cgroup_count(void) {
    char group[PATH_BYTES] = "";
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file)
        return 0;
    char line[PATH_BYTES];
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(group, sizeof group, "%s", line + 3);
    }
    fclose(file);
    int least = 0;
    for (;;) {
        int quota = quota_of(group);
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
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
