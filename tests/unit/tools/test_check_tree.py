# SPDX-License-Identifier: Apache-2.0
"""test_check_tree.py: each tree check finds its small bad example and nothing in a good one."""
import os
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))

import c_reader  # noqa: E402
import check_tree  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEAD = SPDX + "// What this file owns.\n"


def complaints(check, files):
    """What a check says about a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return check(check_tree.Tree(root))


class Checks(unittest.TestCase):
    def good(self, check, files):
        self.assertEqual(complaints(check, files), [])

    def bad(self, check, files, *parts, n=1):
        found = complaints(check, files)
        self.assertEqual(len(found), n, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_include_directions(self):
        check = check_tree.check_includes
        own = '#include "op/a.h"\n#include "quant/b.h"\n#include <math.h>\n'
        self.good(check, {"src/op/a.c": own, "src/op/a.h": '#include "base/status.h"\n'})
        self.bad(check, {"src/op/a.c": '#include "model/b.h"\n'}, "src/op/a.c:1", "base quant")
        self.bad(check, {"src/base/a.c": '#include "op/b.h"\n'}, "nothing")
        self.bad(check, {"src/op/a.c": '#include "a.h"\n'}, "folder/file.h")
        self.bad(check, {"src/odd/a.c": '#include "base/status.h"\n'}, "no row")
        self.bad(check, {"src/op/a.c": "#include <glint/glint.h>\n"}, "public header")
        self.good(check, {"src/engine/a.c": "#include <glint/glint.h>\n",
                          "src/base/status.h": "#include <glint/glint.h>\n"})

    def test_backends_are_named_once(self):
        check = check_tree.check_includes
        self.good(check, {"src/engine/backends.c": '#include "cpu/cpu.h"\n'})
        self.bad(check, {"src/engine/engine.c": '#include "cpu/cpu.h"\n'}, "backends.c only")
        self.bad(check, {"apps/cmd_run.c": '#include "cpu/cpu.h"\n'}, "backends.c only")

    def test_apps(self):
        check = check_tree.check_includes
        self.good(check, {"apps/cmd_convert.c": '#include "options.h"\n#include "format/gguf.h"\n',
                          "apps/convert.c": '#include "base/alloc.h"\n',
                          "apps/convert_text.c": '#include "quant/dtype.h"\n',
                          "apps/cmd_run.c": "#include <glint/glint.h>\n"})
        self.bad(check, {"apps/cmd_run.c": '#include "format/gguf.h"\n'}, "apps may include")

    def test_own_header_first(self):
        self.bad(check_tree.check_includes,
                 {"src/op/a.c": '#include "base/status.h"\n#include "op/a.h"\n', "src/op/a.h": ""},
                 "first include")

    def test_file_length(self):
        check = check_tree.check_file_length
        self.good(check, {"src/a.c": "\n" * 1000, "src/b_tables.c": "\n" * 5000})
        self.bad(check, {"src/a.c": "\n" * 1001}, "1001 lines")

    def test_columns(self):
        check = check_tree.check_columns
        self.good(check, {"src/a.c": "x" * 100 + "\n", "src/b.c": "é" * 100 + "\n"})
        self.bad(check, {"src/a.c": "x" * 101 + "\n"}, "101 columns")
        self.bad(check, {"src/a.c": "\tx\n"}, "a tab")
        self.bad(check, {"src/a.c": "x"}, "no end")

    def test_function_length(self):
        check = check_tree.check_functions
        body = "void f(void) {\n" + "    g();\n" * 118 + "}\n"
        self.good(check, {"src/op/a.c": body})
        long = body.replace("}\n", "    g();\n}\n")
        self.bad(check, {"src/op/a.c": long}, "f: 121 lines")
        self.good(check, {"src/cpu/a.c": long})
        self.bad(check, {"src/op/a.c": "#define M \\\n" * 120 + "    1\n"}, "macro M: 121 lines")

    def test_parameters(self):
        check = check_tree.check_functions
        six = "int f(int a, int b, int c, int d, int e, int (*g)(int, int)) {\n}\n"
        self.good(check, {"src/a.c": six})
        self.bad(check, {"src/a.c": six.replace("int a", "int z, int a")}, "7 parameters")
        self.bad(check, {"src/a.c": "__attribute__((noinline)) static int\nf(int a, int b, int c, "
                                    "int d,\n  int e, int g, int h)\n{\n}\n"}, "f: 7 parameters")

    def test_nesting(self):
        check = check_tree.check_functions
        four = "void f(void) {\n for (;;)\n while (a)\n if (b) {\n do { g(); } while (0);\n }\n}\n"
        self.good(check, {"src/a.c": four})
        self.bad(check, {"src/a.c": four.replace("g();", "if (c) g();")}, "5 levels")
        chain = "void f(void) {\n" + "if (a) { g(); } else " * 9 + "{ g(); }\n}\n"
        self.good(check, {"src/a.c": chain})
        labels = "void f(void) {\n switch (a) {\n case 1: case B ? 2 : 3: g(); break;\n" \
                 " default:\n if (x) { struct s t = {.u = {{1}}}; h(t); }\n }\n}\n"
        self.assertEqual(c_reader.Source(labels).functions[0].nesting, 2)

    def test_opening(self):
        check = check_tree.check_opening
        self.good(check, {"src/a.c": HEAD, "tools/a.sh": "#!/bin/sh\n#" + SPDX[2:]})
        self.bad(check, {"src/a.c": "// Owns this.\n"}, "SPDX")
        self.bad(check, {"src/a.c": SPDX + "int x;\n"}, "what the file owns")

    def test_comments(self):
        check = check_tree.check_comments
        self.good(check, {"src/a.c": '// a /* b\nchar *s = "/* c */"; char q = \'"\'; // "\n'})
        self.bad(check, {"src/a.c": "int a;\nint b; /* b */\n"}, "src/a.c:2")

    def test_names(self):
        check = check_tree.check_names
        self.good(check, {"src/a/x.c": "", "src/b/x.h": "", "src/a/CMakeLists.txt": "",
                          "src/b/CMakeLists.txt": "", "tests/golden/a/x.c": ""})
        self.bad(check, {"src/a/x.c": "", "src/b/x.c": ""}, "the name of src/a/x.c")
        self.bad(check, {"src/a/string_utils.c": ""}, "utils")
        self.bad(check, {"src/common/x.c": ""}, "common")

    def test_calls(self):
        check = check_tree.check_calls
        self.good(check, {"src/a/x.c": 'void (*free)(int); // malloc(1)\n'
                                       'b->free(b); s = "exit(1)"; glint_free(p);\n',
                          "src/base/alloc.c": "free(p);\n", "apps/x.c": "exit(1);\n"})
        for call in ("malloc(1)", "free (p)", "printf(\"x\")", "exit(1)", "getenv(\"X\")",
                     "alloca(9)", "strcpy(a, b)", "assert(x)"):
            self.bad(check, {"src/a/x.c": f"    {call};\n"}, "src/a/x.c:1")

    def test_paths(self):
        check = check_tree.check_paths
        self.good(check, {"a.md": "tests/work/x and https://x.org/home/y and /usr/bin\n"})
        self.bad(check, {"a.md": "see /" + "home/me/file\n"}, "a.md:1")

    def test_headers(self):
        check = check_tree.check_headers
        self.good(check, {"src/a/x.h": "#include <stddef.h>\nsize_t f(void);\n",
                          "src/a/y_tmpl.h": "size_t g(void);\n"})
        self.bad(check, {"src/a/x.h": "size_t f(void);\n"}, "does not compile alone")

    @unittest.skipUnless(check_tree.find_clang_format(), "clang-format 14 is not here")
    def test_format(self):
        check = check_tree.check_format
        with open(os.path.join(ROOT, ".clang-format"), encoding="utf-8") as file:
            rules = file.read()
        good = "int f(void) {\n    return 1;\n}\n"
        self.good(check, {".clang-format": rules, "src/a.c": good})
        self.bad(check, {".clang-format": rules, "src/a.c": good.replace("void", " void")},
                 "src/a.c:1")

    def test_globals(self):
        listing = ("x.c.o:     file format elf64-x86-64\n"
                   "0000000000000000 l     O .data.rel.ro.local\t0000000000000008 names\n"
                   "0000000000000000 l     O .rodata\t0000000000000008 table\n"
                   "0000000000000000 l    d  .data\t0000000000000000 .data\n"
                   "0000000000000000 g     F .text\t0000000000000008 f\n"
                   "0000000000000000 l     O .bss\t0000000000000004 counter.0\n"
                   "0000000000000000 g     O .data\t0000000000000004 mode\n"
                   "alloc.c.o:     file format elf64-x86-64\n"
                   "0000000000000000 l     O .bss\t0000000000000008 live_blocks\n")
        found = check_tree.mutable_globals("libx.a", listing)
        self.assertEqual([f.split()[2] for f in found], ["counter.0", "mode"])


class Reader(unittest.TestCase):
    def test_functions(self):
        text = HEAD + """#define F(x) { x }
struct s { int a; };
static const int t[] = {1, 2};
typedef int (*fn)(int);
enum { A = 1 };
extern "C" {
int one(void);
int one(void) {
    return '{';
}
}
#ifdef X
int two(int a) {
#else
int two(int a, int b) {
#endif
    return a;
}
#ifdef Y
int three(void) {
    return 1;
}
#endif
_Noreturn void four(const char *a, ...) {
}
"""
        found = c_reader.Source(text).functions
        self.assertEqual([(f.name, f.n_parameters) for f in found],
                         [("one", 0), ("two", 1), ("two", 2), ("three", 0), ("four", 2)])

    def test_blanking_keeps_lines(self):
        text = 'a "b\\"c" /* d\ne */ f // g\n\'"\' h\n'
        code, starts = c_reader.blank(text)
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertEqual(starts, [1])
        self.assertEqual(code.split()[0], "a")
        self.assertIn("f", code)
        self.assertNotIn("g", code)
        self.assertTrue(code.rstrip().endswith("h"))


if __name__ == "__main__":
    unittest.main()
