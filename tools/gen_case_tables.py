#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# gen_case_tables.py — writes src/prompt/case_tables.c: how Python's str.lower and str.upper map
# single characters, and which characters str.isalpha and str.isdigit accept.
# Run from the top of the tree: python3 tools/gen_case_tables.py > src/prompt/case_tables.c
import sys
import unicodedata


def chars():
    for code in range(0x80, 0x110000):
        if not 0xD800 <= code <= 0xDFFF:
            yield chr(code)


def mapping(name, convert):
    simple = [(ord(c), ord(convert(c))) for c in chars() if len(convert(c)) == 1 and convert(c) != c]
    print(f"const struct glint_case_pair glint_case_{name}[] = {{")
    for i in range(0, len(simple), 4):
        print("    " + " ".join(f"{{0x{a:04x}, 0x{b:04x}}}," for a, b in simple[i:i + 4]))
    print("};")
    print(f"const size_t glint_n_case_{name} = {len(simple)};")
    longer = [(ord(c), [ord(x) for x in convert(c)]) for c in chars() if len(convert(c)) > 1]
    print(f"const struct glint_case_string glint_case_{name}_long[] = {{")
    for code, to in longer:
        print(f"    {{0x{code:04x}, {{{', '.join(f'0x{x:04x}' for x in to)}}}}},")
    print("};")
    print(f"const size_t glint_n_case_{name}_long = {len(longer)};")


def ranges(name, accept):
    found = []
    for c in chars():
        if accept(c):
            if found and found[-1][1] == ord(c) - 1:
                found[-1][1] = ord(c)
            else:
                found.append([ord(c), ord(c)])
    print(f"const struct glint_case_pair glint_char_{name}[] = {{")
    for i in range(0, len(found), 4):
        print("    " + " ".join(f"{{0x{a:04x}, 0x{b:04x}}}," for a, b in found[i:i + 4]))
    print("};")
    print(f"const size_t glint_n_char_{name} = {len(found)};")


print("// SPDX-License-Identifier: Apache-2.0")
print("// case_tables.c — written by tools/gen_case_tables.py from Unicode "
      f"{unicodedata.unidata_version}; ASCII is not in here.")
print("// clang-format off")
print('#include "prompt/char_case.h"')
print()
mapping("lower", str.lower)
mapping("upper", str.upper)
ranges("alpha", str.isalpha)
ranges("digit", str.isdigit)
