// SPDX-License-Identifier: Apache-2.0
// The size rule against 1,918 answers of the official code, ties of square pictures included.
#include "vision/size_rule.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

enum { UNIT = 28, N_ROW = 1918 };

static void test_official_answers(void **state) {
    (void)state;
    FILE *file = fopen("data/smart_resize.csv", "r");
    assert_non_null(file);
    char line[128];
    assert_non_null(fgets(line, sizeof line, file)); // the names of the columns
    int n = 0;
    while (fgets(line, sizeof line, file)) {
        int height, width, cap, rows, cols;
        assert_int_equal(sscanf(line, "%d,%d,%d,%d,%d", &height, &width, &cap, &rows, &cols), 5);
        struct glint_token_grid grid = glint_token_grid_of(height, width, UNIT, cap);
        if (grid.rows * UNIT != rows || grid.cols * UNIT != cols)
            fail_msg("%d x %d, cap %d: got %d x %d, expected %d x %d", height, width, cap,
                     (int)grid.rows * UNIT, (int)grid.cols * UNIT, rows, cols);
        n++;
    }
    fclose(file);
    assert_int_equal(n, N_ROW);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_official_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
