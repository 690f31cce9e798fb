// SPDX-License-Identifier: Apache-2.0
// test_pace.c — the choice of how many tokens to try ahead, against simulated costs and chances.
#include "draft/pace.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

enum { MOST = 15 };

struct world {
    double step_ms, row_ms, draft_ms; // a step of n rows: step_ms + (n - 1) row_ms
    double chance;                    // of each proposal, once those before it were right
    uint32_t random;
    bool busy; // the clock shows up to four times what a step or a draft costs
};

static double uniform(struct world *world) {
    world->random = world->random * 1664525u + 1013904223u;
    return (world->random >> 8) * 0x1p-24;
}

static bool happens(struct world *world) {
    return uniform(world) < world->chance;
}

// What the clock shows.
static double clocked(struct world *world, double ms) {
    double u = world->busy ? uniform(world) : 0;
    return ms * (1 + 3 * u * u * u);
}

struct outcome {
    double ms; // for all tokens
    int n_plain, n_round, n_proposed, n_taken, longest;
};

// One sequence of n tokens.
static struct outcome play(struct world *world, struct glint_pace_book *book, int n) {
    struct glint_pace pace = {.off = false};
    struct outcome out = {.ms = 0};
    while (n > 0) {
        int k = glint_pace_choose(&pace, book, MOST < n ? MOST : n - 1, 1), taken = 0;
        assert_true(k >= 0 && k <= MOST);
        double step = world->step_ms + k * world->row_ms;
        out.ms += step;
        glint_pace_learn_step(book, 1 + k, clocked(world, step));
        if (k > 0) {
            out.ms += world->draft_ms;
            glint_pace_learn_draft(book, 1, clocked(world, world->draft_ms));
            while (taken < k && happens(world))
                taken++;
            glint_pace_learn_round(&pace, book, k, taken, false);
            out.n_round++;
        } else {
            out.n_plain++;
        }
        out.n_proposed += k;
        out.n_taken += taken;
        out.longest = k > out.longest ? k : out.longest;
        n -= 1 + taken;
    }
    return out;
}

// Proposals that are never right: little is lost, and the second sequence knows better.
static void test_worthless(void **state) {
    (void)state;
    struct world world = {.step_ms = 10, .row_ms = 1, .draft_ms = 5, .chance = 0, .random = 1};
    struct glint_pace_book book;
    glint_pace_book_init(&book);
    struct outcome first = play(&world, &book, 256), second = play(&world, &book, 256);
    printf("    plain 2560 ms, first %.0f ms, second %.0f ms\n", first.ms, second.ms);
    assert_true(first.ms < 2560 / 0.97);
    assert_true(second.ms < 2560 / 0.98);
}

static void test_good(void **state) {
    (void)state;
    struct world world = {.step_ms = 10, .row_ms = 1, .draft_ms = 5, .chance = 0.95, .random = 2};
    struct glint_pace_book book;
    glint_pace_book_init(&book);
    struct outcome out = play(&world, &book, 512);
    printf("    plain 5120 ms, drafted %.0f ms, %.1f proposals a round\n", out.ms,
           (double)out.n_proposed / out.n_round);
    assert_true(out.ms < 5120 / 2.5);
    assert_true(out.longest > 10 && out.n_plain < 10);
}

// Rows that cost nearly as much as steps: short rounds or none, never much slower.
static void test_dear_rows(void **state) {
    (void)state;
    for (double chance = 0; chance < 1; chance += 0.1) {
        struct world world = {
            .step_ms = 10, .row_ms = 8, .draft_ms = 4, .chance = chance, .random = 3};
        struct glint_pace_book book;
        glint_pace_book_init(&book);
        play(&world, &book, 256);
        struct outcome out = play(&world, &book, 1024);
        printf("    chance %.1f: plain 10240 ms, %.0f ms, %d rounds\n", chance, out.ms,
               out.n_round);
        assert_true(out.ms < 10240 / 0.97);
    }
}

// Milliseconds a token with the best fixed number of proposals.
static double best_fixed(const struct world *world) {
    double best = world->step_ms, tokens = 1, reach = 1;
    for (int k = 1; k <= MOST; k++) {
        reach *= world->chance;
        tokens += reach;
        double ms = (world->step_ms + k * world->row_ms + world->draft_ms) / tokens;
        best = ms < best ? ms : best;
    }
    return best;
}

// No fixed length is better by much, whatever the chances and costs.
static void test_against_every_fixed_length(void **state) {
    (void)state;
    static const double row[] = {0.2, 1, 3}, draft[] = {2, 6};
    double worst = 1;
    for (int i = 0; i < 84; i++) {
        struct world world = {10, row[i % 3], draft[i / 3 % 2], 0.3 + 0.1 * (i / 12), 4, i / 6 % 2};
        struct glint_pace_book book;
        glint_pace_book_init(&book);
        play(&world, &book, 512);
        double adaptive = play(&world, &book, 4096).ms / 4096, best = best_fixed(&world);
        worst = adaptive / best > worst ? adaptive / best : worst;
        if (adaptive > best * 1.15)
            fail_msg("row %g, draft %g, chance %g: %.2f ms a token, at best %.2f", world.row_ms,
                     world.draft_ms, world.chance, adaptive, best);
    }
    printf("    at worst %.3f of the best fixed length's time\n", worst);
}

// A text that turns predictable is noticed, and one that stops being so.
static void test_change(void **state) {
    (void)state;
    struct world world = {.step_ms = 10, .row_ms = 1, .draft_ms = 5, .chance = 0, .random = 5};
    struct glint_pace_book book;
    struct glint_pace pace = {.off = false};
    glint_pace_book_init(&book);
    int rounds[3] = {0}, tokens[3] = {0};
    for (int phase = 0; phase < 3; phase++) {
        world.chance = phase == 1 ? 0.95 : 0;
        for (int i = 0; i < 600; i++) {
            int k = glint_pace_choose(&pace, &book, MOST, 1), taken = 0;
            glint_pace_learn_step(&book, 1 + k, world.step_ms + k * world.row_ms);
            if (k > 0) {
                glint_pace_learn_draft(&book, 1, world.draft_ms);
                while (taken < k && happens(&world))
                    taken++;
                glint_pace_learn_round(&pace, &book, k, taken, false);
            }
            rounds[phase] += k > 0;
            tokens[phase] += 1 + taken;
        }
    }
    printf("    rounds %d, %d, %d of 600 steps; tokens %d, %d, %d\n", rounds[0], rounds[1],
           rounds[2], tokens[0], tokens[1], tokens[2]);
    assert_true(rounds[0] < 20 && rounds[2] < 60);
    assert_true(tokens[1] > 2000);
}

// Proposals that nobody asked about say nothing against the drafter.
static void test_open_rounds(void **state) {
    (void)state;
    struct glint_pace_book book;
    struct glint_pace pace = {.off = false};
    glint_pace_book_init(&book);
    glint_pace_learn_step(&book, 1, 10);
    assert_int_equal(glint_pace_choose(&pace, &book, 0, 1), 0);
    assert_true(glint_pace_choose(&pace, &book, 15, 1) > 0);
    for (int i = 0; i < 50; i++)
        glint_pace_learn_round(&pace, &book, 3, 0, true);
    assert_true(glint_pace_choose(&pace, &book, 15, 1) > 0);
    for (int i = 0; i < 50; i++)
        glint_pace_learn_round(&pace, &book, 3, 0, false);
    assert_int_equal(glint_pace_choose(&pace, &book, 15, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worthless), cmocka_unit_test(test_good),
        cmocka_unit_test(test_dear_rows), cmocka_unit_test(test_against_every_fixed_length),
        cmocka_unit_test(test_change),    cmocka_unit_test(test_open_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
