// SPDX-License-Identifier: Apache-2.0
// known_release.c — sizes of the published files (model.md F).
#include "known_release.h"

static const struct {
    uint64_t bytes;
    size_t n_tensors;
    const char *name;
} releases[] = {
    {16756681056u, 731, "Muse Glimmer 30B, K-Quant-17GB, first release"},
    {16756683904u, 731, "Muse Glimmer 30B, K-Quant-17GB (Q4_K_M)"},
    {19653957984u, 731, "Muse Glimmer 30B, K-Quant-Dynamic, first release"},
    {19653960832u, 731, "Muse Glimmer 30B, K-Quant-Dynamic (Q4_K_XL)"},
    {1631205312u, 58, "Muse Glimmer 30B drafter (DFlash), K-Quant, first release"},
    {1631208128u, 58, "Muse Glimmer 30B drafter (DFlash), Q4_K_M"},
    {1400328928u, 809, "Muse Glimmer 30B vision file, Q4_K_M"},
    {15878222368u, 731, "Muse Glimmer 30B, unsloth UD-Q4_K_XL"},
    {12444212256u, 731, "Muse Glimmer 30B, unsloth UD-Q2_K_XL"},
};

const char *glint_known_release(const struct glint_gguf *gguf) {
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
        if (releases[i].bytes == gguf->n_bytes && releases[i].n_tensors == gguf->n_tensors)
            return releases[i].name;
    return NULL;
}
