// SPDX-License-Identifier: Apache-2.0
typedef int glint_cursor_empty;
