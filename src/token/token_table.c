// SPDX-License-Identifier: Apache-2.0
// token_table.c — building the table of token_table.h.
// At most half of the slots are used.
#include "token/token_table.h"

#include "base/alloc.h"

enum glint_status glint_token_table_init(struct glint_token_table *table, int64_t n_keys,
                                         struct glint_error *err) {
    unsigned bits = 4;
    while (((int64_t)1 << bits) < 2 * n_keys)
        bits++;
    table->shift = 64 - bits;
    table->slots = glint_alloc((size_t)1 << bits, sizeof *table->slots);
    if (!table->slots)
        return glint_fail(err, GLINT_E_NOMEM, "vocabulary: no memory for %lld table slots",
                          1LL << bits);
    return GLINT_OK;
}

void glint_token_table_fini(struct glint_token_table *table) {
    glint_free(table->slots);
    table->slots = NULL;
}

enum glint_status glint_token_table_add(struct glint_token_table *table, int32_t id,
                                        int32_t *other) {
    const char *data = table->bytes + table->begins[id];
    size_t n = table->begins[id + 1] - table->begins[id];
    uint64_t head = glint_token_head(data, n, n);
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    size_t at = (size_t)(glint_token_hash(data, n, head) >> table->shift);
    *other = -1;
    for (int i_probe = 0; i_probe < GLINT_TABLE_MAX_PROBES; i_probe++, at = (at + 1) & mask) {
        struct glint_token_slot *slot = &table->slots[at];
        if (slot->n == 0) {
            slot->head = head;
            slot->n = (uint32_t)n;
            slot->id = id;
            return GLINT_OK;
        }
        if (slot->head == head && slot->n == n &&
            (n <= 8 || memcmp(table->bytes + table->begins[slot->id], data, n) == 0)) {
            *other = slot->id;
            return GLINT_OK;
        }
    }
    return GLINT_E_LIMIT;
}
