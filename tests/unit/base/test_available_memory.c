// SPDX-License-Identifier: Apache-2.0
// test_available_memory.c — what is left in control groups of both versions, nested, with cached
// file pages, and under a limit of the address space; from files in a folder of its own.
#include "base/available_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[200];

static void put(const char *name, const char *text) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = 0;
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void make_root(void) {
    const char *place = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/glint-memory-XXXXXX", place ? place : "/tmp");
    assert_non_null(mkdtemp(root));
    put("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 100 kB\nMemAvailable:    4000 kB\n");
}

static void remove_root(void) {
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void test_without_groups(void **state) {
    (void)state;
    make_root();
    assert_int_equal(glint_available_memory_in(root), 4000 * 1024);
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "max\n");
    put("sys/fs/cgroup/memory.current", "5000\n");
    assert_int_equal(glint_available_memory_in(root), 4000 * 1024);
    remove_root();
    assert_int_equal(glint_available_memory_in(root), 0); // nothing is known
}

// Pages of files that were read, the model's among them, are in `current` but can be had.
static void test_version_2(void **state) {
    (void)state;
    make_root();
    put("proc/self/cgroup", "0::/app/inner\n");
    put("sys/fs/cgroup/app/inner/memory.max", "max\n");
    put("sys/fs/cgroup/app/inner/memory.current", "900000\n");
    put("sys/fs/cgroup/app/memory.max", "1000000\n"); // the limit is further up
    put("sys/fs/cgroup/app/memory.current", "900000\n");
    assert_int_equal(glint_available_memory_in(root), 100000);
    put("sys/fs/cgroup/app/memory.stat",
        "anon 100000\nfile 800000\ninactive_file 600000\nactive_file 150000\n");
    assert_int_equal(glint_available_memory_in(root), 850000);
    put("sys/fs/cgroup/app/memory.stat", "inactive_file 0\n");
    put("sys/fs/cgroup/app/memory.current", "1000000\n"); // full, which is not unknown
    assert_int_equal(glint_available_memory_in(root), 1);
    remove_root();
}

static void test_version_1(void **state) {
    (void)state;
    make_root();
    put("proc/self/cgroup", "9:name=systemd:/\n5:cpu,memory:/docker/x\n4:memoryx:/\n0::/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"); // a container sees its own
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "1500000\n");
    put("sys/fs/cgroup/memory/memory.stat",
        "inactive_file 1\nactive_file 2\ntotal_inactive_file 300000\ntotal_active_file 100000\n");
    assert_int_equal(glint_available_memory_in(root), 900000);
    remove_root();
}

static void test_address_space(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); // a sanitizer takes terabytes of addresses
#endif
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {(rlim_t)1 << 29, (rlim_t)1 << 29};
        if (setrlimit(RLIMIT_AS, &limit) != 0)
            _exit(2);
        uint64_t available = glint_available_memory(0);
        bool good = available > 0 && available < (uint64_t)1 << 29 &&
                    glint_available_memory(1 << 20) == available + (1 << 20);
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_groups),
        cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_address_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
