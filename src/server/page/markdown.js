// SPDX-License-Identifier: Apache-2.0
// markdown.js: what models write, as elements. Everything becomes text nodes in elements made here,
// so no answer can bring markup of its own; links lead to http and https only; pictures are shown
// as links, since fetching them would tell a stranger. Time is linear in the text's length but for
// small factors, and depth is bounded: the text may be anything.
import {copyButton, el} from "./dom.js";

const MAX_DEPTH = 12; // of quotes and lists in each other, and of emphasis in emphasis
const MAX_LABEL = 400, MAX_URL = 4000;

// ---- blocks -----------------------------------------------------------------------------------

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)(.*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const ROW_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

const isBlank = (line) => line.trim() === "";
const indentOf = (line) => line.length - line.trimStart().length;

function isTable(lines, i) {
    return lines[i].includes("|") && i + 1 < lines.length && lines[i + 1].includes("-") &&
        lines[i + 1].length < MAX_LABEL && ROW_RULE.test(lines[i + 1]) &&
        splitRow(lines[i]).length === splitRow(lines[i + 1]).length;
}

// Whether a line begins something that ends a paragraph. Of lists only those that begin at 1: a
// line of a paragraph may well begin with a year and a dot.
function interrupts(lines, i) {
    const line = lines[i];
    const item = ITEM.exec(line);
    return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) ||
        (item && item[3] !== "" && !/^(?!1[.)])\d/.test(item[2])) || isTable(lines, i);
}

function splitRow(line) {
    const cells = [""];
    const text = line.trim().replace(/^\|/, "");
    let ticks = false;
    for (let i = 0; i < text.length; i++) {
        const c = text[i];
        if (c === "\\" && text[i + 1] === "|")
            cells[cells.length - 1] += text[++i];
        else if (c === "|" && !ticks)
            cells.push("");
        else
            cells[cells.length - 1] += c;
        // A tick opens code only if another closes it in this row.
        if (c === "`" && (ticks || text.indexOf("`", i + 1) >= 0))
            ticks = !ticks;
    }
    if (cells.length > 1 && isBlank(cells[cells.length - 1]))
        cells.pop();
    return cells.map((cell) => cell.trim());
}

function takeCode(lines, i) {
    const [, fence, info] = FENCE.exec(lines[i]);
    const indent = indentOf(lines[i]);
    const closing = new RegExp("^ {0,3}" + fence[0] + "{" + fence.length + ",}[ \\t]*$");
    let end = i + 1;
    while (end < lines.length && !closing.test(lines[end]))
        end++;
    const code = lines.slice(i + 1, end)
        .map((line) => line.slice(Math.min(indent, indentOf(line))));
    return {kind: "code", language: info.trim().split(/\s/)[0], text: code.join("\n"),
        end: end + 1};
}

function takeTable(lines, i) {
    const align = splitRow(lines[i + 1]).map((cell) =>
        cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "end") : "start");
    const rows = [];
    let end = i + 2;
    while (end < lines.length && lines[end].includes("|") && !isBlank(lines[end]))
        rows.push(splitRow(lines[end++]));
    return {kind: "table", head: splitRow(lines[i]), align, rows, end};
}

function takeQuote(lines, i) {
    let end = i;
    while (end < lines.length && (QUOTE.test(lines[end]) ||
        (end > i && !isBlank(lines[end]) && !interrupts(lines, end))))
        end++;
    return {kind: "quote", lines: lines.slice(i, end).map((line) => line.replace(QUOTE, "")), end};
}

function takeList(lines, i) {
    const first = ITEM.exec(lines[i]);
    const indent = first[1].length, ordered = /\d/.test(first[2]);
    const mark = first[2].slice(-1);
    const list = {kind: "list", ordered, start: ordered ? parseInt(first[2], 10) : 1, items: []};
    let at = i, item = null, offset = 0;
    for (; at < lines.length; at++) {
        const line = lines[at];
        const found = ITEM.exec(line);
        const inside = indentOf(line) >= indent + 2;
        if (found && !inside) {
            if (found[2].slice(-1) !== mark || RULE.test(line))
                break;
            offset = found[1].length + found[2].length + Math.min(found[3].length || 1, 4);
            item = [line.slice(offset)];
            list.items.push(item);
        } else if (isBlank(line) || inside) {
            item.push(line.slice(Math.min(offset, indentOf(line))));
        } else if (isBlank(lines[at - 1]) || interrupts(lines, at)) {
            break;
        } else {
            item.push(line);
        }
    }
    while (isBlank(lines[at - 1])) // those belong to what follows
        at--;
    return {...list, end: at};
}

function takeParagraph(lines, i) {
    let end = i + 1;
    while (end < lines.length && !isBlank(lines[end]) && !interrupts(lines, end))
        end++;
    return {kind: "paragraph", text: lines.slice(i, end).join("\n").trim(), end};
}

function takeBlock(lines, i, depth) {
    const line = lines[i];
    const heading = HEADING.exec(line);
    if (FENCE.test(line))
        return takeCode(lines, i);
    if (heading)
        return {kind: "heading", level: heading[1].length,
            text: heading[2].trim().replace(/(^|[ \t])#+$/, ""), end: i + 1};
    if (RULE.test(line))
        return {kind: "rule", end: i + 1};
    if (QUOTE.test(line) && depth < MAX_DEPTH)
        return takeQuote(lines, i);
    if (ITEM.test(line) && depth < MAX_DEPTH)
        return takeList(lines, i);
    return isTable(lines, i) ? takeTable(lines, i) : takeParagraph(lines, i);
}

// The blocks of a text, each with the source it was made from.
function blocksOf(lines, depth) {
    const blocks = [];
    for (let i = 0; i < lines.length;) {
        if (isBlank(lines[i])) {
            i++;
            continue;
        }
        const block = takeBlock(lines, i, depth);
        block.source = lines.slice(i, block.end).join("\n");
        blocks.push(block);
        i = block.end;
    }
    return blocks;
}

const linesOf = (text) => text.replace(/\r\n?/g, "\n").split("\n").map((line) =>
    line.replace(/^[ \t]+/, (space) => space.replaceAll("\t", "    ")));

// ---- text in a line ---------------------------------------------------------------------------

const isWord = (c) => c !== undefined && /[\p{L}\p{N}]/u.test(c);
const isSpace = (c) => c === undefined || /\s/.test(c);

function linkTo(address, ...children) {
    let url = null;
    try {
        url = new URL(address);
    } catch {
        // not an address: stays text
    }
    if (!url || (url.protocol !== "http:" && url.protocol !== "https:"))
        return null;
    return el("a", {href: url.href, rel: "noopener noreferrer", target: "_blank"}, ...children);
}

// Turns one text into nodes. Positions only grow, and what was not found once is not sought again.
class Inline {
    constructor(text, depth) {
        this.text = text;
        this.depth = depth;
        this.nodes = [];
        this.plain = "";
        this.hopeless = new Set(); // delimiters that are not closed any more
    }

    flush() {
        if (this.plain !== "")
            this.nodes.push(document.createTextNode(this.plain));
        this.plain = "";
    }

    push(node, end) {
        this.flush();
        this.nodes.push(node);
        return end;
    }

    inner(text) {
        return this.depth < MAX_DEPTH ? new Inline(text, this.depth + 1).run() : [text];
    }

    run() {
        const {text} = this;
        for (let i = 0; i < text.length;) {
            const end = this.special(i);
            if (end === i)
                this.plain += text[i++];
            else
                i = end;
        }
        this.flush();
        return this.nodes;
    }

    // The end of what begins at i, or i when it is plain text.
    special(i) {
        switch (this.text[i]) {
        case "\\":
            return this.escape(i);
        case "`":
            return this.code(i);
        case "*":
        case "_":
        case "~":
            return this.emphasis(i);
        case "[":
            return this.link(i, i);
        case "!":
            return this.text[i + 1] === "[" ? this.link(i, i + 1) : i;
        case "<":
            return this.pointed(i);
        case "h":
            return this.bare(i);
        case "\n":
            this.plain = this.plain.trimEnd();
            return this.push(el("br"), i + 1);
        default:
            return i;
        }
    }

    escape(i) {
        const next = this.text[i + 1];
        if (next === undefined || !/[!-/:-@[-`{-~]/.test(next))
            return i;
        this.plain += next;
        return i + 2;
    }

    code(i) {
        const {text} = this;
        let n = 1;
        while (text[i + n] === "`")
            n++;
        const end = this.closingTicks(i + n, n);
        if (end < 0) {
            this.plain += text.slice(i, i + n);
            return i + n;
        }
        let code = text.slice(i + n, end).replaceAll("\n", " ");
        if (code.length > 2 && code.startsWith(" ") && code.endsWith(" "))
            code = code.slice(1, -1);
        return this.push(el("code", {}, code), end + n);
    }

    closingTicks(from, n) {
        const {text} = this;
        const name = "`" + n;
        if (this.hopeless.has(name))
            return -1;
        for (let at = text.indexOf("`", from); at >= 0; at = text.indexOf("`", at)) {
            let m = 1;
            while (text[at + m] === "`")
                m++;
            if (m === n)
                return at;
            at += m;
        }
        this.hopeless.add(name);
        return -1;
    }

    emphasis(i) {
        const {text} = this;
        const c = text[i];
        let n = 1;
        while (text[i + n] === c)
            n++;
        const opens = !isSpace(text[i + n]) && (c !== "_" || !isWord(text[i - 1]));
        const size = Math.min(n, c === "~" ? 2 : 3);
        const close = opens && n <= 3 && (c !== "~" || n === 2) ? this.closing(i + n, c, size) : -1;
        if (close < 0) {
            this.plain += text.slice(i, i + n);
            return i + n;
        }
        let nodes = this.inner(text.slice(i + n, close));
        if (c === "~")
            nodes = [el("s", {}, ...nodes)];
        if (c !== "~" && size !== 2)
            nodes = [el("em", {}, ...nodes)];
        if (c !== "~" && size !== 1)
            nodes = [el("strong", {}, ...nodes)];
        return this.push(nodes[0], close + size);
    }

    // Where n of c stand that close emphasis; code between is jumped over.
    closing(from, c, n) {
        const {text} = this;
        const name = c + n;
        for (let at = from; at < text.length && !this.hopeless.has(name);) {
            if (text[at] === "\\") {
                at += 2;
            } else if (text[at] === "`") {
                let m = 1;
                while (text[at + m] === "`")
                    m++;
                const end = this.closingTicks(at + m, m);
                at = end < 0 ? at + m : end + m;
            } else if (text[at] === c) {
                let m = 1;
                while (text[at + m] === c)
                    m++;
                const closes = !isSpace(text[at - 1]) && (c !== "_" || !isWord(text[at + m]));
                if (closes && (m === n || (m === 3 && n < 3)) && at > from)
                    return m === 3 && n < 3 ? at + 3 - n : at;
                at += m;
            } else {
                at++;
            }
        }
        this.hopeless.add(name);
        return -1;
    }

    // [label](address "title"), or a picture's with "!" before.
    link(i, open) {
        const {text} = this;
        const limit = Math.min(text.length, open + MAX_LABEL);
        let depth = 0, close = open;
        for (; close < limit; close++) {
            if (text[close] === "\\")
                close++;
            else if (text[close] === "[")
                depth++;
            else if (text[close] === "]" && --depth === 0)
                break;
        }
        if (close >= limit || text[close + 1] !== "(")
            return i;
        const found = /^\(\s*<?([^\s<>]*?)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)$/
            .exec(balanced(text, close + 1));
        if (!found)
            return i;
        const label = text.slice(open + 1, close);
        const node = linkTo(found[1], ...(label === "" ? [found[1]] : this.inner(label)));
        return node ? this.push(node, close + 1 + found[0].length) : i;
    }

    pointed(i) {
        const end = this.text.slice(i, i + MAX_URL).search(/[\s>]/);
        if (end < 0 || this.text[i + end] !== ">")
            return i;
        const address = this.text.slice(i + 1, i + end);
        const node = /^https?:/.test(address) ? linkTo(address, address) : null;
        return node ? this.push(node, i + end + 1) : i;
    }

    bare(i) {
        if (isWord(this.text[i - 1]) || !/^https?:\/\/\S/.test(this.text.slice(i, i + 10)))
            return i;
        let address = /^[^\s<>"`]+/.exec(this.text.slice(i, i + MAX_URL))[0];
        address = address.replace(/[.,:;!?'*_~\]]+$/, "");
        if (address.endsWith(")") && !address.includes("("))
            address = address.replace(/\)+[.,:;!?]*$/, "");
        const node = linkTo(address, address);
        return node ? this.push(node, i + address.length) : i;
    }
}

// From the "(" at i to the ")" that closes it; to the limit if none does.
function balanced(text, i) {
    const limit = Math.min(text.length, i + MAX_URL);
    let depth = 0;
    for (let at = i; at < limit; at++) {
        if (text[at] === "(")
            depth++;
        else if (text[at] === ")" && --depth === 0)
            return text.slice(i, at + 1);
        else if (text[at] === "\n")
            break;
    }
    return "";
}

const inline = (text) => new Inline(text, 0).run();

// ---- elements ---------------------------------------------------------------------------------

function drawCode(block) {
    const code = el("code", {}, block.text);
    return el("figure", {class: "code"},
        el("figcaption", {}, el("span", {}, block.language),
            copyButton("Copy code", () => code.textContent)),
        el("pre", {tabindex: "0", "aria-label": "Code"}, code));
}

function drawTable(block) {
    const row = (name, cells) => el("tr", {}, ...block.align.map((align, i) =>
        el(name, {class: "to-" + align, scope: name === "th" ? "col" : null},
            ...inline(cells[i] ?? ""))));
    return el("div", {class: "table", tabindex: "0", role: "group", "aria-label": "Table"},
        el("table", {}, el("thead", {}, row("th", block.head)),
            el("tbody", {}, ...block.rows.map((cells) => row("td", cells)))));
}

function drawItem(lines, depth) {
    const task = /^\[([ xX])\] /.exec(lines[0]);
    if (task)
        lines = [lines[0].slice(4), ...lines.slice(1)];
    const children = blocksOf(lines, depth + 1).map((block) => draw(block, depth + 1));
    const box = task && el("input", {type: "checkbox", disabled: true, checked: task[1] !== " ",
        "aria-label": task[1] !== " " ? "done" : "to do"});
    return el("li", {class: task ? "task" : null}, box, ...children);
}

function draw(block, depth) {
    switch (block.kind) {
    case "code":
        return drawCode(block);
    case "heading": // below the page's own headings
        return el("h" + Math.min(6, block.level + 2), {}, ...inline(block.text));
    case "rule":
        return el("hr");
    case "quote":
        return el("blockquote", {},
            ...blocksOf(block.lines, depth + 1).map((inner) => draw(inner, depth + 1)));
    case "list":
        return el(block.ordered ? "ol" : "ul", {start: block.start !== 1 ? block.start : null},
            ...block.items.map((lines) => drawItem(lines, depth)));
    case "table":
        return drawTable(block);
    default:
        return el("p", {}, ...inline(block.text));
    }
}

const drawn = new WeakMap(); // element: blocks it shows

// Shows text in root. What root shows already stays, so that a text may grow without being drawn
// anew, and a selection in it survives.
export function showMarkdown(root, text) {
    const old = drawn.get(root) ?? [];
    const blocks = blocksOf(linesOf(text), 0);
    blocks.forEach((block, i) => {
        const before = old[i], node = root.children[i];
        if (before && before.source === block.source && before.kind === block.kind)
            return;
        if (before?.kind === "code" && block.kind === "code" && before.language === block.language)
            node.querySelector("code").textContent = block.text;
        else if (node)
            node.replaceWith(draw(block, 0));
        else
            root.append(draw(block, 0));
    });
    while (root.children.length > blocks.length)
        root.lastChild.remove();
    drawn.set(root, blocks);
}
