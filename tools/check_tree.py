#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_tree.py: the rules of CONTRIBUTING.md that a script can see.

    tools/check_tree.py                    every check on every file; ends with `N passed, N failed`
    tools/check_tree.py --objects BUILD    also: the libraries of that build hold no mutable globals
    tools/check_tree.py --format           rewrites the C files as clang-format lays them out
    tools/check_tree.py --find-clang-format

A check is a function from a Tree to a list of complaints. What C means is read by c_reader.py.
Python's standard library only.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

import c_reader

FILE_LINES = 1000
FUNCTION_LINES = 120
KERNEL_LINES = 200
PARAMETERS = 6
NESTING = 4
COLUMNS = 100
CLANG_FORMAT_MAJOR = 14

C_NAMES = (".c", ".h", ".cu", ".cuh", ".def")
CODE_NAMES = C_NAMES + (".py", ".sh", ".cmake", ".mjs", ".js")

# The training scripts carry sentences and word lists, a sentence a line.
LONG_LINES = ("tools/demo/",)
COMPLAINTS = 40  # printed for each check

# Folders whose files are data: inputs and results of tests, models.
DATA_FOLDERS = ("tests/golden/", "tests/fuzz/corpus/", "tests/data/", "models/", "bench/data/")

# Who may include whom (CONTRIBUTING.md). A folder may always include itself.
ALLOWED = {
    "base": "",
    "format": "base",
    "quant": "base",
    "op": "base quant",
    "cpu": "base quant op",
    "cuda": "base quant op",
    "token": "base format",
    "prompt": "base format",
    "model": "base format quant op",
    "batch": "base op model",
    "layer": "base op model batch",
    "vision": "base op model",
    "sample": "base token",
    "draft": "base op model batch layer sample",
    "stream": "base format token prompt",
    "engine": "base format quant op token prompt model batch layer vision sample draft stream",
    "server": "base format",
}
PUBLIC_HEADER_USERS = ("base", "engine", "server")
BACKEND_USERS = ("src/engine/backends.c",)
# Commands that work on files rather than on an engine may look into those files.
APPS_ALLOWED = [
    (re.compile(r"apps/(cmd_)?(convert|quantize|imatrix|inspect|known)(_\w+)?\.[ch]$"),
     "base format quant"),
    (re.compile(r"apps/dialog_file\.c$"), "base format"),
    (re.compile(r"apps/json_out\.c$"), "base"),
    (re.compile(r"apps/(cmd_)?serve(_\w+)?\.[ch]$"), "server"),
]

# Calls that library code does not make, and the one file that may.
FORBIDDEN_CALLS = [
    ("malloc calloc realloc free aligned_alloc posix_memalign strdup strndup asprintf vasprintf",
     "memory comes from base/alloc.h", ("src/base/alloc.c",)),
    ("alloca", "no stack blocks of variable size", ()),
    ("printf fprintf vprintf vfprintf puts fputs putchar fputc putc perror",
     "the library prints nothing; it logs through the caller's callback", ("src/base/status.c",)),
    ("abort", "broken promises go through GLINT_ASSERT", ("src/base/status.c",)),
    ("assert", "use GLINT_ASSERT", ()),
    ("exit quick_exit _Exit", "the library does not end the program", ()),
    ("_exit", "the library ends only its own forks", ("src/vision/picture_child.c",)),
    ("getenv secure_getenv setenv putenv", "the library does not read the environment", ()),
    ("sprintf vsprintf strcpy strcat gets", "a length must be given", ()),
    ("system popen setlocale rand srand strtok", "not in library code", ()),
]

# Mutable data the library is allowed: the counters of alloc.c, explained there.
ALLOWED_GLOBALS = {"alloc.c.o": {"live_blocks", "live_bytes", "fail_countdown", "n_forbid"}}

# Functions whose parameters a library dictates.
CALLBACKS = {("src/server/http.c", "on_request")}  # MHD_AccessHandlerCallback

FORBIDDEN_WORDS = ("util", "utils", "helper", "helpers", "common", "misc")


class Tree:
    """The files under one root, read once."""

    def __init__(self, root):
        self.root = root
        self.paths = sorted(self._list())
        self._texts = {}
        self._sources = {}

    def _list(self):
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, capture_output=True, check=False)
        if listed.returncode == 0:
            names = [name for name in listed.stdout.decode().split("\0") if name]
            return {n for n in names if os.path.isfile(os.path.join(self.root, n))}
        found = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f not in (".git", "build")]
            found.update(os.path.relpath(os.path.join(folder, n), self.root) for n in names)
        return found

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self._texts[path] = file.read()
        return self._texts[path]

    def source(self, path):
        if path not in self._sources:
            self._sources[path] = c_reader.Source(self.text(path))
        return self._sources[path]

    def select(self, endings, under=""):
        return [p for p in self.paths if p.endswith(endings) and p.startswith(under)
                and not p.startswith(DATA_FOLDERS)]

    def c_files(self, under=""):
        return self.select((".c", ".h", ".cu", ".cuh"), under)

    def code_files(self):
        named = self.select(CODE_NAMES)
        return named + [p for p in self.paths if not p.startswith(DATA_FOLDERS) and
                        (os.path.basename(p) in ("CMakeLists.txt", "Makefile") or p == ".ci/run")]


def is_table(path):
    return re.search(r"_tables\.\w+$", path) is not None


def folder_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def check_includes(tree):
    """who may include whom"""
    bad = []
    for path in tree.c_files("src/") + tree.c_files("apps/"):
        includes = tree.source(path).includes
        for line, name, angle in includes:
            reason = wrong_include(path, name, angle)
            if reason:
                bad.append(f"{path}:{line}: includes {name}: {reason}")
        own = re.sub(r"\.(c|cu)$", ".h", path)
        if own != path and own in tree.paths:
            expected = own.removeprefix("src/").removeprefix("apps/")
            if not includes or includes[0][1] != expected:
                bad.append(f"{path}: its own header \"{expected}\" is not its first include")
    return bad


def wrong_include(path, name, angle):
    """The reason why path may not include name, or None."""
    folder = folder_of(path)
    if angle:
        if name.startswith("glint/") and path.startswith("src/") \
                and folder not in PUBLIC_HEADER_USERS:
            return "the public header is for " + ", ".join(PUBLIC_HEADER_USERS) + " and apps"
        return None
    if "/" not in name:
        return None if folder == "apps" else "write \"folder/file.h\""
    target = name.split("/")[0]
    if target in ("cpu", "cuda") and folder not in ("cpu", "cuda"):
        return None if path in BACKEND_USERS else "backends are named in engine/backends.c only"
    if target == folder:
        return None
    if folder == "apps":
        allowed = " ".join(names for pattern, names in APPS_ALLOWED if pattern.match(path))
    elif folder not in ALLOWED:
        return f"the folder src/{folder} has no row in the table of tools/check_tree.py"
    else:
        allowed = ALLOWED[folder]
    return None if target in allowed.split() else f"{folder} may include: {allowed or 'nothing'}"


def check_file_length(tree):
    """files of at most 1,000 lines"""
    return [f"{p}: {n} lines, at most {FILE_LINES}" for p in tree.code_files()
            if not is_table(p) and (n := tree.text(p).count("\n")) > FILE_LINES]


def check_columns(tree):
    """lines of at most 100 columns, no tabs, a final newline"""
    bad = []
    for path in tree.code_files():
        text = tree.text(path)
        if text and not text.endswith("\n"):
            bad.append(f"{path}: the last line has no end")
        for i, line in enumerate(text.split("\n"), 1):
            if len(line) > COLUMNS and not is_table(path) and not path.startswith(LONG_LINES):
                bad.append(f"{path}:{i}: {len(line)} columns, at most {COLUMNS}")
            if "\t" in line and not path.endswith("Makefile"):
                bad.append(f"{path}:{i}: a tab")
    return bad


def check_functions(tree):
    """functions: at most 120 lines (kernels 200), 6 parameters, 4 levels"""
    bad = []
    for path in tree.c_files():
        if is_table(path):
            continue
        limit = KERNEL_LINES if path.startswith(("src/cpu/", "src/cuda/")) else FUNCTION_LINES
        for f in tree.source(path).functions:
            where = f"{path}:{f.line}: {f.name}"
            if f.n_lines > limit:
                bad.append(f"{where}: {f.n_lines} lines, at most {limit}")
            if f.n_parameters > PARAMETERS and (path, f.name) not in CALLBACKS:
                bad.append(f"{where}: {f.n_parameters} parameters, at most {PARAMETERS}")
            if f.nesting > NESTING:
                bad.append(f"{where}: {f.nesting} levels, at most {NESTING}")
        for line, name, n_lines in tree.source(path).macros:
            if n_lines > limit:
                bad.append(f"{path}:{line}: macro {name}: {n_lines} lines, at most {limit}")
    return bad


def check_opening(tree):
    """the SPDX line, then what the file owns"""
    bad = []
    for path in tree.code_files():
        lines = tree.text(path).split("\n")
        at = 1 if lines[0].startswith("#!") else 0
        mark = "//" if path.endswith(C_NAMES + (".mjs", ".js")) else "#"
        if lines[at:at + 1] != [f"{mark} SPDX-License-Identifier: Apache-2.0"]:
            bad.append(f"{path}:{at + 1}: expected \"{mark} SPDX-License-Identifier: Apache-2.0\"")
        elif path.endswith(C_NAMES) and not lines[at + 1:at + 2][0].startswith("//"):
            bad.append(f"{path}:{at + 2}: expected a comment that says what the file owns")
    return bad


def check_comments(tree):
    """comments are //"""
    return [f"{p}:{line}: a /* comment" for p in tree.c_files()
            for line in tree.source(p).block_comments]


def check_names(tree):
    """no utils, helpers, common, misc; no two files of one name"""
    bad = []
    seen = {}
    for path in tree.paths:
        if path.startswith(DATA_FOLDERS):
            continue
        name = os.path.basename(path)
        words = re.split(r"[_.\-/]", path.lower())
        bad += [f"{path}: a name that says nothing: {w}" for w in words if w in FORBIDDEN_WORDS]
        if name in ("CMakeLists.txt", "README.md"):
            continue
        if name in seen:
            bad.append(f"{path}: the name of {seen[name]}")
        seen[name] = path
    return bad


def check_calls(tree):
    """calls that library code does not make"""
    bad = []
    for path in tree.c_files("src/"):
        for names, reason, owners in FORBIDDEN_CALLS:
            if path in owners:
                continue
            pattern = re.compile(r"(?<![\w.>])(" + names.replace(" ", "|") + r")\s*\(")
            for i, line in enumerate(tree.source(path).code.split("\n"), 1):
                bad += [f"{path}:{i}: {m.group(1)}: {reason}" for m in pattern.finditer(line)]
    return bad


def check_paths(tree):
    """no paths of one machine"""
    pattern = re.compile(r"(?<![\w.}/])/(?:home|root|work|Users|mnt)/\w")
    return [f"{p}:{i}: a path of one machine" for p in tree.paths
            if not p.startswith(DATA_FOLDERS) and p.endswith(CODE_NAMES + (".md", ".txt", ".json"))
            for i, line in enumerate(tree.text(p).split("\n"), 1) if pattern.search(line)]


def compile_alone(tree, path):
    command = ["cc", "-std=c11", "-fsyntax-only", "-Wall", "-Werror", "-D_POSIX_C_SOURCE=200809L",
               "-D_DEFAULT_SOURCE", "-Iinclude", "-Isrc", "-Iapps", "-Itests",
               "-include", path, "-x", "c", "/dev/null"]
    result = subprocess.run(command, cwd=tree.root, capture_output=True, check=False)
    if result.returncode == 0:
        return []
    return [f"{path}: does not compile alone: {result.stderr.decode().strip()[:500]}"]


def check_headers(tree):
    """each header compiles alone"""
    # A template is the body of several files and stands on what each defines before it.
    headers = [p for p in tree.select((".h",))
               if not p.startswith("src/cuda/") and not p.endswith("_tmpl.h")]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as workers:
        return sum(workers.map(lambda p: compile_alone(tree, p), headers), [])


def find_clang_format():
    """The program of the version that decides, or None: layouts differ between versions."""
    for name in (f"clang-format-{CLANG_FORMAT_MAJOR}", "clang-format"):
        try:
            said = subprocess.run([name, "--version"], capture_output=True, check=False).stdout
        except FileNotFoundError:
            continue
        if re.search(rf"version {CLANG_FORMAT_MAJOR}\.", said.decode()):
            return name
    return None


def formatted_files(tree):
    return [p for p in tree.c_files() if not is_table(p)]


def check_format(tree):
    """clang-format decides the layout"""
    program = find_clang_format()
    if not program:
        print(f"    clang-format {CLANG_FORMAT_MAJOR} is not here: the layout is not checked")
        return []
    result = subprocess.run([program, "--dry-run", "-Werror"] + formatted_files(tree),
                            cwd=tree.root, capture_output=True, check=False)
    if result.returncode == 0:
        return []
    lines = [x for x in result.stderr.decode().split("\n") if ": error:" in x]
    return lines or [result.stderr.decode()[:2000]]


def mutable_globals(archive, listing):
    """Complaints about one `objdump -t` listing of a static library."""
    bad = []
    member = "?"
    for line in listing.split("\n"):
        opened = re.match(r"(\S+):\s+file format", line)
        if opened:
            member = opened.group(1)
            continue
        if member.endswith(".cu.o"):  # nvcc's own tables of the kernels
            continue
        # address, flags, section, size, name; .data.rel.ro holds constants with addresses in them
        found = re.match(r"\S+ .{7} (\S+)\s+\S+\s+(\S+)$", line)
        if not found:
            continue
        section, name = found.groups()
        if not section.startswith((".data", ".bss", ".tdata", ".tbss", "*COM*")) \
                or section.startswith(".data.rel.ro") or name.startswith((".", "__")):
            continue
        if name.split(".")[0] not in ALLOWED_GLOBALS.get(member, set()):
            bad.append(f"{os.path.basename(archive)}: {member}: {name} in {section} can be changed")
    return bad


def check_globals(build):
    """no mutable globals in the libraries"""
    walk = os.walk(os.path.join(build, "src"))
    archives = [os.path.join(folder, name) for folder, _, names in walk for name in names
                if name.endswith(".a")]
    if not archives:
        return [f"{build}: found no library, expected a finished build"]
    bad = []
    for archive in sorted(archives):
        listing = subprocess.run(["objdump", "-t", archive], capture_output=True, check=False)
        bad += mutable_globals(archive, listing.stdout.decode())
    return bad


CHECKS = [check_includes, check_file_length, check_columns, check_functions, check_opening,
          check_comments, check_names, check_calls, check_paths, check_headers, check_format]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), ".."))
    parser.add_argument("--objects", metavar="BUILD")
    parser.add_argument("--format", action="store_true")
    parser.add_argument("--find-clang-format", action="store_true")
    options = parser.parse_args()
    if options.find_clang_format:
        print(find_clang_format() or f"clang-format {CLANG_FORMAT_MAJOR} is not here")
        return 0 if find_clang_format() else 1
    tree = Tree(options.root)
    if options.format:
        program = find_clang_format()
        if not program:
            print(f"clang-format {CLANG_FORMAT_MAJOR} is not here")
            return 1
        return subprocess.run([program, "-i"] + formatted_files(tree), cwd=tree.root,
                              check=False).returncode
    results = [(check.__doc__, check(tree)) for check in CHECKS]
    if options.objects:
        results.append((check_globals.__doc__, check_globals(options.objects)))
    n_failed = 0
    for title, bad in results:
        print(f"{'FAILED' if bad else 'passed'} {title}")
        for complaint in bad[:COMPLAINTS]:
            print("    " + complaint)
        if len(bad) > COMPLAINTS:
            print(f"    and {len(bad) - COMPLAINTS} more")
        n_failed += bool(bad)
    print(f"{len(results) - n_failed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
