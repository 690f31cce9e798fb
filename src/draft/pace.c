// SPDX-License-Identifier: Apache-2.0
// pace.c — see pace.h.
#include "draft/pace.h"

enum {
    SURE = 20,      // measurements after which a cost moves slowly
    FIRST_MOST = 3, // proposals of a sequence's first round at most
    TRIAL = 2,      // proposals of a trial
    PAUSE_MIN = 32,
    PAUSE_MAX = 128,
};

static const double forget = 0.95;      // weight of a sequence's rounds, each round
static const double forget_book = 0.99; // of the engine's
static const double prior = 0.7;        // chance of a proposal before any was seen
static const double prior_rounds = 2;   // what that is worth
static const double book_rounds = 4;    // what the engine's record is worth to a sequence
static const double worth = 1.03;       // speed-up from which proposing is taken up again
static const double row_share = 0.1;    // guess: another row costs this much of a step

void glint_pace_book_init(struct glint_pace_book *book) {
    *book = (struct glint_pace_book){.pause = PAUSE_MIN};
}

// A running mean that turns into a moving one, deaf to outliers.
static void learn(struct glint_pace_cost *cost, double ms) {
    if (cost->n > 2 && ms > 2 * cost->ms)
        ms = 2 * cost->ms;
    if (cost->n < SURE)
        cost->n++;
    cost->ms += (ms - cost->ms) / cost->n;
}

void glint_pace_learn_step(struct glint_pace_book *book, int n_row, double ms) {
    if (n_row >= 1 && n_row <= GLINT_PACE_ROWS)
        learn(&book->step[n_row], ms);
}

void glint_pace_learn_draft(struct glint_pace_book *book, int n_block, double ms) {
    if (n_block >= 1 && n_block <= GLINT_PACE_BLOCKS)
        learn(&book->draft[n_block], ms);
}

// Cost of a step of n rows: measured, or on the line through the measured sizes around it, or with
// one of them alone by the guess of row_share. 0 when nothing was measured.
static double step_ms(const struct glint_pace_book *book, int n) {
    int low = n, high = n;
    if (n > GLINT_PACE_ROWS)
        low = high = GLINT_PACE_ROWS;
    while (low >= 1 && book->step[low].n == 0)
        low--;
    while (high <= GLINT_PACE_ROWS && book->step[high].n == 0)
        high++;
    bool below = low >= 1, above = high <= GLINT_PACE_ROWS;
    if (!below && !above)
        return 0;
    if (below && above && low != high) {
        double a = book->step[low].ms, b = book->step[high].ms;
        return a + (b - a) * (n - low) / (high - low);
    }
    int known = below ? low : high;
    return book->step[known].ms * (1 + row_share * (n - 1)) / (1 + row_share * (known - 1));
}

static double draft_ms(const struct glint_pace_book *book, int n) {
    int known = n < GLINT_PACE_BLOCKS ? n : GLINT_PACE_BLOCKS;
    while (known > 1 && book->draft[known].n == 0)
        known--;
    return book->draft[known].ms * n / known;
}

static double chance(const struct glint_pace *pace, const struct glint_pace_book *book, int i) {
    double before =
        (book->record.taken[i] + prior_rounds * prior) / (book->record.reached[i] + prior_rounds);
    return (pace->record.taken[i] + book_rounds * before) / (pace->record.reached[i] + book_rounds);
}

// The number of proposals with the most tokens a millisecond; *gain: against none.
static int best_length(const struct glint_pace *pace, const struct glint_pace_book *book, int most,
                       int n_sequence, double *gain) {
    double plain = step_ms(book, n_sequence), draft = draft_ms(book, n_sequence);
    double tokens = 1, reach = 1;
    int best = 0;
    *gain = 1;
    for (int k = 1; k <= most; k++) {
        reach *= chance(pace, book, k - 1);
        tokens += reach;
        double speed = tokens * plain / (step_ms(book, n_sequence * (k + 1)) + draft);
        if (speed > *gain) {
            *gain = speed;
            best = k;
        }
    }
    return best;
}

int glint_pace_choose(struct glint_pace *pace, struct glint_pace_book *book, int most,
                      int n_sequence) {
    if (pace->most == 0)
        pace->most = FIRST_MOST;
    if (most > GLINT_PACE_MAX)
        most = GLINT_PACE_MAX;
    if (most < 1)
        return 0;
    if (step_ms(book, n_sequence) == 0) // the first step of all tells what plain ones cost
        return 0;
    double gain;
    int k = best_length(pace, book, most < pace->most ? most : pace->most, n_sequence, &gain);
    pace->off = gain < (pace->off ? worth : 1) || k == 0;
    if (!pace->off)
        return k;
    if (++book->n_plain < book->pause)
        return 0;
    book->n_plain = 0;
    return most < TRIAL ? most : TRIAL;
}

static void count(struct glint_pace_record *record, double keep, int n_reached, int n_taken) {
    for (int i = 0; i < n_reached; i++) {
        record->reached[i] = keep * record->reached[i] + 1;
        record->taken[i] = keep * record->taken[i] + (i < n_taken);
    }
}

void glint_pace_learn_round(struct glint_pace *pace, struct glint_pace_book *book, int n,
                            int n_taken, bool open) {
    int n_reached = n_taken < n && !open ? n_taken + 1 : n_taken;
    count(&pace->record, forget, n_reached, n_taken);
    count(&book->record, forget_book, n_reached, n_taken);
    if (n_taken >= pace->most)
        pace->most = pace->most > GLINT_PACE_MAX / 2 ? GLINT_PACE_MAX : 2 * pace->most + 1;
    if (n_taken > 0) {
        book->pause = PAUSE_MIN;
        book->n_plain = PAUSE_MIN; // a trial that went well is followed by another
    } else if (pace->off && book->pause < PAUSE_MAX) {
        book->pause *= 2;
    }
}
