// SPDX-License-Identifier: Apache-2.0
// cmd_inspect.c — `glint inspect`: what a GGUF file holds and what it would take to run it.
#include "cmd.h"
#include "json_out.h"
#include "known_release.h"
#include "options.h"

#include "format/gguf.h"
#include "quant/dtype.h"

#include <glint/glint.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPT_JSON = 1, OPT_TENSORS, OPT_CONTEXT, OPT_CACHE_K, OPT_CACHE_V };
enum { MAX_TYPES = 64, SHOWN_ITEMS = 4, SHOWN_BYTES = 80 };

static const struct glint_option options[] = {
    {OPT_JSON, {"json"}, NULL, "print one JSON object"},
    {OPT_TENSORS, {"tensors"}, NULL, "list every tensor"},
    {OPT_CONTEXT,
     {"c", "ctx-size"},
     "N",
     "plan memory for N tokens (default: the model's context)"},
    {OPT_CACHE_K, {"ctk", "cache-type-k"}, "TYPE", "plan for keys as f16 (default), f32, q8_0"},
    {OPT_CACHE_V, {"ctv", "cache-type-v"}, "TYPE", "plan for values as f16 (default), f32, q8_0"},
    {0},
};

static const struct glint_command command = {
    "inspect",
    "FILE [--json] [--tensors]",
    "Shows a GGUF file's header, metadata, tensors by type, and the memory it needs.",
    options,
};

struct type_sum {
    uint32_t id;
    uint64_t n, bytes;
};

static size_t sum_types(const struct glint_gguf *gguf, struct type_sum *sums) {
    size_t n = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        size_t j = 0;
        while (j < n && sums[j].id != gguf->tensors[i].type_id)
            j++;
        if (j == n) {
            if (n == MAX_TYPES)
                continue;
            sums[n++] = (struct type_sum){.id = gguf->tensors[i].type_id};
        }
        sums[j].n++;
        sums[j].bytes += gguf->tensors[i].n_bytes;
    }
    return n;
}

static const char *type_name(uint32_t id) {
    const struct glint_dtype_info *info = glint_dtype_info(id);
    return info ? info->name : glint_dtype_public_name(id);
}

// One item as JSON, which also reads well as text.
static void print_item(const struct glint_gguf_kv *kv, uint64_t i, bool cut) {
    int64_t integer;
    double real;
    bool truth;
    struct glint_view text;
    if (glint_gguf_item_bool(kv, i, &truth)) {
        printf("%s", truth ? "true" : "false");
    } else if (glint_gguf_item_i64(kv, i, &integer)) {
        printf("%" PRId64, integer);
    } else if (glint_gguf_item_f64(kv, i, &real)) {
        if (real - real == 0)
            printf("%.9g", real);
        else
            printf("null");
    } else if (glint_gguf_item_string(kv, i, &text)) {
        size_t n = cut && text.n > SHOWN_BYTES ? SHOWN_BYTES : text.n;
        glint_json_out_string(stdout, text.data, n);
        if (n < text.n)
            printf("... (%zu bytes)", text.n);
    } else {
        printf("null");
    }
}

static void print_value(const struct glint_gguf_kv *kv, bool json) {
    uint64_t n = kv->is_array && kv->n > SHOWN_ITEMS && !json ? SHOWN_ITEMS : kv->n;
    if (!kv->is_array) {
        print_item(kv, 0, !json);
        return;
    }
    // Vocabularies would drown everything else: JSON says how many items long arrays have.
    if (json && kv->n > 1024) {
        printf("{\"items\":%" PRIu64 "}", kv->n);
        return;
    }
    printf("[");
    for (uint64_t i = 0; i < n; i++) {
        printf(i ? ", " : "");
        print_item(kv, i, !json);
    }
    printf(n < kv->n ? ", ... %" PRIu64 " items]" : "]", kv->n);
}

static double mb(uint64_t bytes) {
    return (double)bytes / 1e6;
}

static void print_plan(const struct glint_memory_plan *plan) {
    printf("\nMemory to run it (MB = 1,000,000 bytes)\n");
    printf("  weights                 %12.1f MB  mapped from the file\n", mb(plan->weights));
    printf("  cache, sliding layers   %12.1f MB  whatever the length\n", mb(plan->cache_fixed));
    char at[32];
    snprintf(at, sizeof at, "cache at %d tokens", plan->n_context);
    printf("  cache, per 1,000 tokens %12.3f MB\n", mb(plan->cache_per_1000));
    printf("  %-23s %12.1f MB\n", at, mb(plan->cache));
    printf("  scratch                 %12.1f MB\n", mb(plan->scratch));
    printf("  total                   %12.1f MB", mb(plan->total));
    if (plan->available)
        printf("  of %.1f MB available: %s", mb(plan->available),
               plan->total <= plan->available ? "fits" : "does not fit");
    printf("\n");
}

static void print_text(const struct glint_gguf *gguf, const struct glint_memory_plan *plan,
                       bool tensors) {
    struct type_sum sums[MAX_TYPES];
    size_t n = sum_types(gguf, sums);
    printf("%s\n  GGUF version %u, %" PRIu64 " bytes in %zu file%s, alignment %" PRIu64 "\n",
           gguf->path, gguf->version, gguf->n_bytes, gguf->n_shards, gguf->n_shards > 1 ? "s" : "",
           gguf->alignment);
    const char *release = glint_known_release(gguf);
    printf("  release: %s\n", release ? release : "none that glint knows by size");
    printf("\nMetadata, %zu keys\n", gguf->n_kvs);
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        printf("  %-48s ", gguf->kvs[i].key);
        print_value(&gguf->kvs[i], false);
        printf("\n");
    }
    printf("\nTensors, %zu, %" PRIu64 " bytes\n", gguf->n_tensors, gguf->n_tensor_bytes);
    for (size_t i = 0; i < n; i++)
        printf("  %-8s %6" PRIu64 " tensors %16" PRIu64 " bytes%s\n", type_name(sums[i].id),
               sums[i].n, sums[i].bytes,
               glint_dtype_info(sums[i].id) ? "" : "  (glint cannot run this type)");
    for (size_t i = 0; tensors && i < gguf->n_tensors; i++) {
        const struct glint_gguf_tensor *tensor = &gguf->tensors[i];
        printf("  %-40s %-6s [", tensor->name, type_name(tensor->type_id));
        for (uint32_t d = 0; d < tensor->n_dims; d++)
            printf("%s%" PRIu64, d ? ", " : "", tensor->dims[d]);
        printf("]\n");
    }
    if (plan)
        print_plan(plan);
}

static void print_json(const struct glint_gguf *gguf, const struct glint_memory_plan *plan) {
    struct type_sum sums[MAX_TYPES];
    size_t n = sum_types(gguf, sums);
    const char *release = glint_known_release(gguf);
    printf("{\"file\":");
    glint_json_out_string(stdout, gguf->path, strlen(gguf->path));
    printf(",\"version\":%u,\"bytes\":%" PRIu64 ",\"shards\":%zu,\"release\":", gguf->version,
           gguf->n_bytes, gguf->n_shards);
    if (release)
        glint_json_out_string(stdout, release, strlen(release));
    else
        printf("null");
    printf(",\"metadata\":{");
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        printf(i ? "," : "");
        glint_json_out_string(stdout, gguf->kvs[i].key, strlen(gguf->kvs[i].key));
        printf(":");
        print_value(&gguf->kvs[i], true);
    }
    printf("},\"tensors\":%zu,\"tensor_bytes\":%" PRIu64 ",\"types\":{", gguf->n_tensors,
           gguf->n_tensor_bytes);
    for (size_t i = 0; i < n; i++)
        printf("%s\"%s\":{\"tensors\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", i ? "," : "",
               type_name(sums[i].id), sums[i].n, sums[i].bytes);
    printf("}");
    if (plan)
        printf(",\"memory\":{\"weights\":%" PRIu64 ",\"cache\":%" PRIu64 ",\"cache_fixed\":%" PRIu64
               ",\"cache_per_1000\":%" PRIu64 ",\"scratch\":%" PRIu64 ",\"total\":%" PRIu64
               ",\"available\":%" PRIu64 ",\"context\":%d}",
               plan->weights, plan->cache, plan->cache_fixed, plan->cache_per_1000, plan->scratch,
               plan->total, plan->available, plan->n_context);
    printf("}\n");
}

static int inspect(struct glint_engine_params *params, bool json, bool tensors) {
    struct glint_error error = {0};
    struct glint_memory_plan plan;
    struct glint_gguf *gguf = NULL;
    if (glint_gguf_open(&gguf, params->model_path, &error) != GLINT_OK) {
        fprintf(stderr, "glint inspect: %s\n", error.text);
        return GLINT_EXIT_FAILED;
    }
    struct glint_view architecture = {0};
    bool text =
        glint_gguf_opt_string(gguf, "general.architecture", &architecture, NULL) == GLINT_OK &&
        glint_view_is(architecture, "muse-glimmer");
    enum glint_status status = text ? glint_plan_memory(params, &plan, &error) : GLINT_OK;
    const struct glint_memory_plan *shown = text && status == GLINT_OK ? &plan : NULL;
    if (json)
        print_json(gguf, shown);
    else
        print_text(gguf, shown, tensors);
    glint_gguf_close(&gguf);
    if (status != GLINT_OK) {
        fprintf(stderr, "glint inspect: %s\n", error.text);
        return GLINT_EXIT_FAILED;
    }
    return GLINT_EXIT_OK;
}

int glint_cmd_inspect(int argc, char **argv) {
    struct glint_options state;
    struct glint_engine_params params = glint_engine_params_default();
    bool json = false, tensors = false;
    int64_t n_context = 0;
    glint_options_init(&state, &command, argc, argv);
    state.max_operands = 1;
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        if (id == OPT_JSON)
            json = true;
        else if (id == OPT_TENSORS)
            tensors = true;
        else if (id == OPT_CACHE_K)
            params.cache_type_k = state.value;
        else if (id == OPT_CACHE_V)
            params.cache_type_v = state.value;
        else if (!glint_options_int(&state, 1, 1 << 24, &n_context))
            return GLINT_EXIT_USAGE;
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (state.argc != 1)
        return glint_options_usage(&command, "needs one file");
    params.model_path = state.argv[0];
    params.n_context = (int)n_context;
    return inspect(&params, json, tensors);
}
