#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# gen_chat_template.py — writes src/prompt/chat_template_tables.c from the publisher's template.
# Run from the top of the tree:
#   python3 tools/gen_chat_template.py > src/prompt/chat_template_tables.c
import pathlib

path = pathlib.Path("tests/fixtures/chat/chat_template.hub-a4e59da.jinja")
text = path.read_text(encoding="utf-8")
print("// SPDX-License-Identifier: Apache-2.0")
print("// chat_template_tables.c — the chat template of the model's publisher, repository revision")
print("// a4e59da, used for files that carry none. Written by tools/gen_chat_template.py.")
print("// clang-format off")
print('#include "prompt/chat.h"')
print()
print("const char glint_chat_default_template[] =")
lines = text.split("\n")
for i, line in enumerate(lines):
    body = line.replace("\\", "\\\\").replace('"', '\\"')
    end = "\\n" if i + 1 < len(lines) else ""
    pieces = []
    while len(body) > 80:
        cut = 80
        while body[cut - 1] == "\\":
            cut -= 1
        pieces.append(body[:cut])
        body = body[cut:]
    pieces.append(body + end)
    for piece in pieces:
        print(f'    "{piece}"')
print("    ;")
