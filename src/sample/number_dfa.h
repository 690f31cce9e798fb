// SPDX-License-Identifier: Apache-2.0
// number_dfa.h — automata for JSON numbers inside bounds, by comparing decimal digits.
// Bounds are decimals as they were written, never doubles, so they hold exactly.
#ifndef GLINT_SAMPLE_NUMBER_DFA_H
#define GLINT_SAMPLE_NUMBER_DFA_H

#include "sample/byte_dfa.h"

enum { GLINT_DECIMAL_MAX = 60 };

struct glint_decimal { // all-zero is not valid; glint_decimal_read makes one
    bool negative;
    uint8_t n_whole, n_fraction;    // digits; at least one before the point, no idle zeros
    char digits[GLINT_DECIMAL_MAX]; // n_whole, then n_fraction
};
// A JSON number's spelling; false when it has too many digits.
bool glint_decimal_read(struct glint_view lexeme, struct glint_decimal *out);
int glint_decimal_compare(const struct glint_decimal *a, const struct glint_decimal *b);
bool glint_decimal_is_zero(const struct glint_decimal *decimal);
bool glint_decimal_is_whole(const struct glint_decimal *decimal);

struct glint_number_rule { // all-zero: any number
    bool whole;            // no point, no exponent
    bool has_low, has_high;
    bool low_open, high_open; // the bound itself is out
    struct glint_decimal low, high;
    uint32_t multiple; // 0: any. Else numbers are multiples of multiple / 10^multiple_places
    uint8_t multiple_places;
};
// A multiple's decimal to the two fields above; false when it is not positive or too long.
bool glint_number_set_multiple(struct glint_number_rule *rule, const struct glint_decimal *value);

enum glint_machine_fit glint_dfa_number(struct glint_dfa *dfa, const struct glint_number_rule *rule,
                                        uint32_t *start);

#endif
