// SPDX-License-Identifier: Apache-2.0
// cgroup.h — the control groups that limit this process (Linux).
#ifndef GLINT_BASE_CGROUP_H
#define GLINT_BASE_CGROUP_H

// folder: of one group, without a slash at the end; during the call only.
typedef void (*glint_cgroup_fn)(void *context, const char *folder);

// Visits the process's group and every group above it: those of version 2 and those of version
// 1's `controller` ("memory"). Nothing where there are no groups. root: "" but in tests.
void glint_cgroup_each(const char *root, const char *controller, glint_cgroup_fn visit,
                       void *context);

#endif
