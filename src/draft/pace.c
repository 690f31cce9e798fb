// SPDX-License-Identifier: Apache-2.0
// pace.c — see pace.h.
#include "draft/pace.h"

enum {
    SURE = 50, // measurements after which a cost moves slowly
    TRIAL = 2, // proposals of a trial
    PAUSE_MIN = 32,
    PAUSE_MAX = 512,
};

static const double forget = 0.95;      // weight of a sequence's rounds, each round
static const double forget_book = 0.99; // of the engine's
static const double prior = 0.7;        // chance of a first proposal before any was seen
static const double prior_rounds = 2;   // what a prior is worth to the engine's record
static const double book_rounds = 4;    // what the engine's record is worth to a sequence
static const double worth = 1.03;       // speed-up from which proposing is taken up again
static const double hopeful = 0.95;     // speed-up from which that is worth a closer look
static const double row_share = 0.1;    // guess: another row costs this much of a step
static const double guess_weight = 2;   // what that is worth, in measurements a row apart
static const double line_weight = 3;    // what the line is worth to a single size

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

// Steps of n rows cost about base + slope * n: the line through all measured sizes, as single
// sizes are rare and a busy machine scatters them.
struct line {
    double base, slope;
};

static struct line fit(const struct glint_pace_book *book) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 1; i <= GLINT_PACE_ROWS; i++) {
        n += book->step[i].n;
        x += (double)book->step[i].n * i;
        y += book->step[i].n * book->step[i].ms;
    }
    if (n == 0)
        return (struct line){0, 0};
    x /= n;
    y /= n;
    for (int i = 1; i <= GLINT_PACE_ROWS; i++) {
        xx += book->step[i].n * (i - x) * (i - x);
        xy += book->step[i].n * (i - x) * (book->step[i].ms - y);
    }
    double guess = y * row_share / (1 + row_share * (x - 1));
    double slope = (xy + guess_weight * guess) / (xx + guess_weight);
    slope = slope > 0 ? slope : 0;
    return (struct line){y - slope * x, slope};
}

// Cost of a step of n rows: the line's, drawn to what this size was measured to take.
static double step_ms(const struct glint_pace_book *book, struct line line, int n) {
    double ms = line.base + line.slope * n;
    if (n > GLINT_PACE_ROWS || book->step[n].n == 0)
        return ms;
    const struct glint_pace_cost *own = &book->step[n];
    return (own->n * own->ms + line_weight * ms) / (own->n + line_weight);
}

static double draft_ms(const struct glint_pace_book *book, int n) {
    int known = n < GLINT_PACE_BLOCKS ? n : GLINT_PACE_BLOCKS;
    while (known > 1 && book->draft[known].n == 0)
        known--;
    return book->draft[known].ms * n / known;
}

// The chance of proposal i, when that of the one before it is `before`.
static double chance(const struct glint_pace *pace, const struct glint_pace_book *book, int i,
                     double before) {
    double general =
        (book->record.taken[i] + prior_rounds * before) / (book->record.reached[i] + prior_rounds);
    return (pace->record.taken[i] + book_rounds * general) /
           (pace->record.reached[i] + book_rounds);
}

// The number of proposals with the most tokens a millisecond; *gain: against none. At least 1.
static int best_length(const struct glint_pace *pace, const struct glint_pace_book *book, int most,
                       int n_sequence, double *gain) {
    struct line line = fit(book);
    double plain = step_ms(book, line, n_sequence), draft = draft_ms(book, n_sequence);
    double tokens = 1, reach = 1, right = prior;
    int best = 1;
    *gain = 0;
    for (int k = 1; k <= most; k++) {
        right = chance(pace, book, k - 1, right);
        reach *= right;
        tokens += reach;
        double step = step_ms(book, line, n_sequence * (k + 1));
        // Measured at other times, on a busier or idler machine: more rows never take less.
        double speed = tokens * plain / ((step > plain ? step : plain) + draft);
        if (speed > *gain) {
            *gain = speed;
            best = k;
        }
    }
    return best;
}

int glint_pace_choose(struct glint_pace *pace, struct glint_pace_book *book, int most,
                      int n_sequence) {
    if (most > GLINT_PACE_MAX)
        most = GLINT_PACE_MAX;
    if (most < 1)
        return 0;
    // The first step of all tells what plain ones cost.
    if (n_sequence <= GLINT_PACE_ROWS && book->step[n_sequence].n == 0)
        return 0;
    int k = best_length(pace, book, most, n_sequence, &pace->gain);
    pace->off = pace->gain < (pace->off ? worth : 1);
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
    if (!pace->off) {
        book->pause = PAUSE_MIN;
    } else if (n_taken == n || (n_taken > 0 && pace->gain > hopeful)) {
        book->n_plain = book->pause; // a trial that went well is followed by another
    } else if (book->pause < PAUSE_MAX) {
        book->pause *= 2;
    }
}
