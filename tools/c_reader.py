# SPDX-License-Identifier: Apache-2.0
"""c_reader.py: as much of C as the tree checks need: comments, includes, functions, nesting.

Source(text) offers
    code            the text with comments, strings and character constants blanked, line by line
    includes        [(line, name, in angle brackets)]
    block_comments  lines where a /* comment begins
    macros          [(line, name, lines it takes)] of the function-like and object-like macros
    functions       [Function]
It reads the text twice, with the first and with the last branch of each #if, so that braces match.
"""
import dataclasses
import re

CONTROL = ("if", "for", "while", "switch", "do", "else")
TOKEN = re.compile(r"[A-Za-z_]\w*|[{}();,:?\[\]=]|[^\s\w]|\d[\w.]*")


@dataclasses.dataclass
class Function:
    name: str
    line: int  # of its first line
    n_lines: int
    n_parameters: int
    nesting: int  # of control statements


def blank(text):
    """Comments, strings and character constants as spaces; lines of /* comments beside it."""
    out = []
    starts = []
    i = 0
    line = 1
    while i < len(text):
        two = text[i:i + 2]
        if two == "//":
            end = text.find("\n", i)
        elif two == "/*":
            starts.append(line)
            end = text.find("*/", i + 2)
            end = end + 2 if end >= 0 else -1
        elif text[i] in "\"'":
            end = end_of_quote(text, i)
        else:
            out.append(text[i])
            line += text[i] == "\n"
            i += 1
            continue
        end = len(text) if end < 0 else end
        taken = text[i:end]
        # A string stays one token: its quotes remain.
        out.append(re.sub(r"[^\n]", " ", taken) if two[0] == "/" else
                   taken[0] + re.sub(r"[^\n]", " ", taken[1:-1]) + taken[-1:])
        line += taken.count("\n")
        i = end
    return "".join(out), starts


def end_of_quote(text, i):
    mark = text[i]
    k = i + 1
    while k < len(text) and text[k] != mark and text[k] != "\n":
        k += 2 if text[k] == "\\" else 1
    return min(k + 1, len(text))


class Source:
    def __init__(self, text):
        self.code, self.block_comments = blank(text)
        self.includes = []
        for i, line in enumerate(text.split("\n"), 1):
            found = re.match(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", line)
            if found:
                self.includes.append((i, found.group(2), found.group(1) == "<"))
        found = {}
        for first_branch in (True, False):
            self.macros = []
            self._tokens = self._scan(self._strip_directives(first_branch))
            for function in self._find_functions():
                found[(function.line, function.name)] = function
        self.functions = [found[key] for key in sorted(found)]

    def _strip_directives(self, first_branch):
        """The code without preprocessor lines and with one branch of each #if that has several."""
        lines = self.code.split("\n")
        alone = self._without_else(lines)
        kept = []
        live = [True]  # one entry for each open #if
        i = 0
        while i < len(lines):
            directive = re.match(r"\s*#\s*(\w*)\s*(\w*)", lines[i])
            if not directive:
                kept.append(lines[i] if all(live) else "")
                i += 1
                continue
            first = i
            while lines[i].rstrip().endswith("\\") and i + 1 < len(lines):
                i += 1
            i += 1
            kept += [""] * (i - first)
            word = directive.group(1)
            if word == "define":
                self.macros.append((first + 1, directive.group(2), i - first))
            elif word in ("if", "ifdef", "ifndef"):
                live.append(first_branch or first in alone)
            elif word in ("else", "elif") and len(live) > 1:
                live[-1] = word == "else" and not first_branch
            elif word == "endif" and len(live) > 1:
                live.pop()
        return kept

    @staticmethod
    def _without_else(lines):
        """Indices of the #if lines that have no #else: their code counts in both readings."""
        alone = set()
        opened = []  # [index, has an #else]
        for i, line in enumerate(lines):
            word = re.match(r"\s*#\s*(\w*)", line)
            word = word.group(1) if word else ""
            if word in ("if", "ifdef", "ifndef"):
                opened.append([i, False])
            elif word == "else" and opened:
                opened[-1][1] = True
            elif word == "endif" and opened:
                index, has_else = opened.pop()
                if not has_else:
                    alone.add(index)
        return alone

    @staticmethod
    def _scan(lines):
        return [(m.group(), n) for n, line in enumerate(lines, 1) for m in TOKEN.finditer(line)]

    def _find_functions(self):
        found = []
        tokens = self._tokens
        start = 0  # of the declaration at hand
        i = 0
        while i < len(tokens):
            word = tokens[i][0]
            if word == ";":
                start = i + 1
            elif word == "}":  # of extern "C"
                start = i + 1
            elif word == "{":
                head = [t for t, _ in tokens[start:i]]
                if head[:1] == ["extern"] and '"' in head and "(" not in head:
                    start = i + 1
                else:
                    end = self._matching(i)
                    if self._is_function(head):
                        found.append(self._function(start, i, end))
                        start = end + 1
                    i = end
            i += 1
        return found

    def _matching(self, i):
        """Index of the brace that closes the one at i."""
        depth = 0
        for k in range(i, len(self._tokens)):
            word = self._tokens[k][0]
            depth += (word == "{") - (word == "}")
            if depth == 0:
                return k
        return len(self._tokens) - 1

    @staticmethod
    def _is_function(head):
        return "(" in head and "=" not in head and "typedef" not in head and head[-1:] == [")"]

    def _function(self, start, opening, end):
        head = [t for t, _ in self._tokens[start:opening]]
        at = self._parameter_list(head)
        n_commas, depth, inner = 0, 0, []
        for word in head[at:]:
            depth += (word in "([") - (word in ")]")
            if depth == 0:
                break
            n_commas += word == "," and depth == 1
            inner.append(word)
        empty = inner[1:] in ([], ["void"])
        return Function(name=head[at - 1], line=self._tokens[start][1],
                        n_lines=self._tokens[end][1] - self._tokens[start][1] + 1,
                        n_parameters=0 if empty else n_commas + 1,
                        nesting=Nesting([t for t, _ in self._tokens[opening:end + 1]]).deepest)

    @staticmethod
    def _parameter_list(head):
        """Index of the parenthesis behind the function's name; attributes come before it."""
        k = 0
        while k < len(head):
            if head[k] == "(":
                if head[k - 1] not in ("__attribute__", "__declspec", "_Alignas", "aligned"):
                    return k
                depth = 0
                while k < len(head):
                    depth += (head[k] == "(") - (head[k] == ")")
                    if depth == 0:
                        break
                    k += 1
            k += 1
        return head.index("(")


class Nesting:
    """Reads statements and keeps the largest number of control statements around one."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.i = 0
        self.deepest = 0
        self.statement(0)

    def peek(self):
        return self.tokens[self.i] if self.i < len(self.tokens) else ""

    def parentheses(self):
        depth = 0
        while self.i < len(self.tokens):
            word = self.tokens[self.i]
            depth += (word == "(") - (word == ")")
            self.i += 1
            if depth == 0:
                return

    def body(self, depth):
        self.deepest = max(self.deepest, depth)
        self.statement(depth)

    def statement(self, depth):
        word = self.peek()
        if word == "{":
            self.i += 1
            while self.peek() not in ("}", ""):
                self.statement(depth)
            self.i += 1
        elif word == "if":
            self.choice(depth)
        elif word in ("for", "while", "switch"):
            self.i += 1
            self.parentheses()
            self.body(depth + 1)
        elif word == "do":
            self.i += 1
            self.body(depth + 1)
            self.expression()
        else:
            self.expression()

    def choice(self, depth):
        while True:
            self.i += 1  # if
            self.parentheses()
            self.body(depth + 1)
            if self.peek() != "else":
                return
            self.i += 1
            if self.peek() != "if":  # else if goes on at the same level
                self.body(depth + 1)
                return

    def expression(self):
        """To the end of a statement without control: a semicolon, or a label's colon."""
        depth = 0
        n_question = 0
        first = self.i
        while self.i < len(self.tokens):
            word = self.tokens[self.i]
            if word == "}" and depth == 0:
                return  # unbalanced: leave it to the block
            if word in CONTROL and depth == 0 and self.i > first:
                return  # a macro without a semicolon
            self.i += 1
            depth += (word in ("{", "(", "[")) - (word in ("}", ")", "]"))
            n_question += word == "?"
            if depth == 0 and word == ";":
                return
            if depth == 0 and word == ":":
                if n_question == 0:
                    return
                n_question -= 1
