// SPDX-License-Identifier: Apache-2.0
// backends.c — the list of backends; the only file that names them.
#include "cpu/cpu.h"
#include "engine/engine.h"

#include <string.h>

enum glint_status glint_backend_open(struct glint_backend **backend,
                                     const struct glint_engine_params *params,
                                     const struct glint_backend_limits *limits,
                                     struct glint_error *err) {
    const char *device = params->device ? params->device : "cpu";
    if (strcmp(device, "cpu") != 0)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "--device: found \"%s\", expected \"cpu\" (this build has no other)",
                          device);
    const struct glint_cpu_params cpu = {
        .n_threads = params->n_threads, .tier = params->cpu_tier, .limits = *limits};
    return glint_cpu_open(backend, &cpu, err);
}
