// SPDX-License-Identifier: Apache-2.0
// Opening the CPU backend: tiers by name, refusals, device memory, every allocation failing.
#include "cpu/cpu.h"

#include "cpu/features.h"
#include "fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct glint_backend_limits limits = {4, 64, 8, 3000, 16};

static enum glint_status open_tier(const char *tier, struct glint_backend **backend,
                                   struct glint_error *err) {
    struct glint_cpu_params params = {1, tier, limits};
    return glint_cpu_open(backend, &params, err);
}

static void test_tiers_are_in_order(void **state) {
    (void)state;
    size_t n = 0;
    for (const char *name; (name = glint_cpu_tier_at(n)) != NULL; n++) {
        enum glint_cpu_tier tier;
        assert_true(glint_cpu_tier_by_name(name, &tier));
        assert_int_equal(tier, n);
        struct glint_backend *backend;
        assert_int_equal(open_tier(name, &backend, NULL), GLINT_OK);
        assert_string_equal(backend->tier, name);
        assert_string_equal(backend->name, "cpu");
        backend->close(backend);
    }
    assert_int_equal(n, glint_cpu_tier_best() + 1);
    assert_null(glint_cpu_tier_at(SIZE_MAX));
    // Without a name the best.
    struct glint_backend *backend;
    assert_int_equal(open_tier(NULL, &backend, NULL), GLINT_OK);
    assert_string_equal(backend->tier, glint_cpu_tier_name(glint_cpu_tier_best()));
    backend->close(backend);
}

static void test_refusals_name_both(void **state) {
    (void)state;
    struct glint_backend *backend = NULL;
    struct glint_error err;
    assert_int_equal(open_tier("sse9", &backend, &err), GLINT_E_UNSUPPORTED);
    assert_null(backend);
    assert_non_null(strstr(err.text, "sse9"));
    enum glint_cpu_tier last = GLINT_CPU_N_TIER - 1;
    assert_non_null(strstr(err.text, glint_cpu_tier_name(last)));
    assert_int_equal(open_tier("", &backend, &err), GLINT_E_UNSUPPORTED);
    if (glint_cpu_tier_best() < last) {
        assert_int_equal(open_tier(glint_cpu_tier_name(last), &backend, &err), GLINT_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, glint_cpu_tier_name(last)));
        assert_non_null(strstr(err.text, glint_cpu_tier_name(glint_cpu_tier_best())));
    }
}

static void test_device_memory(void **state) {
    (void)state;
    struct glint_backend *backend;
    assert_int_equal(open_tier(NULL, &backend, NULL), GLINT_OK);
    char *block = backend->alloc(backend, 100), back[100];
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 64, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(block[i], 0);
    backend->upload(backend, block, "glint", 6);
    backend->download(backend, back, block, 100);
    assert_string_equal(back, "glint");
    backend->upload(backend, block, NULL, 0);
    backend->download(backend, NULL, block, 0);
    assert_int_equal(backend->sync(backend, NULL), GLINT_OK);
    backend->free(backend, block);
    backend->free(backend, NULL);
    assert_null(backend->alloc(backend, SIZE_MAX));
    backend->close(backend);
}

static enum glint_status open_and_close(void *context, struct glint_error *err) {
    struct glint_backend *backend;
    (void)context;
    GLINT_TRY(open_tier(NULL, &backend, err));
    backend->close(backend);
    return GLINT_OK;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(glint_fault_each(open_and_close, NULL) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiers_are_in_order),
        cmocka_unit_test(test_refusals_name_both),
        cmocka_unit_test(test_device_memory),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
