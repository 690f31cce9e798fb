// SPDX-License-Identifier: Apache-2.0
// sanitized.h — whether this build runs under a sanitizer, ten to thirty times slower. Tests on
// whole models then take every n-th of their prompts: the release build checks the values of all
// of them, the sanitizers look at the same code on each.
#ifndef GLINT_TESTS_SANITIZED_H
#define GLINT_TESTS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { GLINT_SANITIZED = 1 };
#else
enum { GLINT_SANITIZED = 0 };
#endif

#endif
