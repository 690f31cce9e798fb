// SPDX-License-Identifier: Apache-2.0
typedef int glint_forward_empty;
