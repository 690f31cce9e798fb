// SPDX-License-Identifier: Apache-2.0
// transfer.js: conversations to files and back. Markdown is for people, JSON holds everything. A
// file to import may be anything: only what is of the right kind is taken from it.
import {el} from "./dom.js";
import {newHead} from "./conversation.js";
import {readTools} from "./settings.js";

const FORMAT = "glint-conversations";
const PICTURE = /^data:image\/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/=]+$/;

export function download(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], {type}));
    const link = el("a", {href: url, download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// "Which planets have rings?" -> "which-planets-have-rings"
export function fileName(title, ending) {
    const words = title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["conversation"];
    return words.join("-").slice(0, 60) + "." + ending;
}

// A fence longer than any in the text.
function fenced(text, language) {
    const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
    const fence = "`".repeat(longest + 1);
    return `${fence}${language}\n${text}\n${fence}`;
}

function callLines(call) {
    const lines = [`**Tool call: ${call.name}**`, fenced(call.arguments, "json")];
    return call.result === null ? lines : [...lines, "**Result**", fenced(call.result, "")];
}

export function toMarkdown({head, messages}) {
    const parts = ["# " + head.title];
    if (head.system.trim() !== "")
        parts.push("## System", head.system);
    for (const message of messages) {
        parts.push(message.role === "user" ? "## You" : "## Answer");
        for (const picture of message.pictures ?? [])
            parts.push(`(Picture: ${picture.name})`);
        if (message.reasoning)
            parts.push("<details><summary>Thinking</summary>", message.reasoning, "</details>");
        if (message.text !== "")
            parts.push(message.text);
        for (const call of message.calls ?? [])
            parts.push(...callLines(call));
    }
    return parts.join("\n\n") + "\n";
}

export function toJson(conversations) {
    return JSON.stringify({format: FORMAT, version: 1, conversations}, null, 1) + "\n";
}

const text = (value) => typeof value === "string" ? value : "";
const number = (value, other) => Number.isFinite(value) ? value : other;
const list = (value) => Array.isArray(value) ? value : [];

function readNumbers(from) {
    const numbers = Object.entries(from ?? {}).filter(([, value]) => Number.isFinite(value));
    return numbers.length ? Object.fromEntries(numbers) : null;
}

function readStats(stats) {
    const draft = readNumbers(stats?.draft);
    return stats && {...readNumbers(stats), ...(draft && {draft})};
}

function readMessage(from, chat, n) {
    const message = {chat, n, role: from.role, text: text(from.text),
        time: number(from.time, Date.now())};
    if (from.role === "user")
        return {...message, pictures: list(from.pictures)
            .filter((picture) => PICTURE.test(text(picture?.url)))
            .map((picture) => ({name: text(picture.name), url: picture.url}))};
    return {...message, reasoning: text(from.reasoning),
        reasoningMs: number(from.reasoningMs, 0),
        calls: list(from.calls).filter((call) => call !== null && typeof call === "object")
            .map((call) => ({id: text(call.id), name: text(call.name),
                arguments: text(call.arguments),
                result: typeof call.result === "string" ? call.result : null})),
        finish: text(from.finish) || "interrupted", stats: readStats(from.stats) ?? null,
        error: from.error ? {text: text(from.error.text), status: number(from.error.status, 0)}
            : null};
}

// The conversations of an exported file, as new ones: [{head, messages}]. Throws an Error that says
// what is wrong with the file.
export function readJson(source) {
    const root = JSON.parse(source);
    if (root?.format !== FORMAT || !Array.isArray(root.conversations))
        throw new Error(`expected "format": "${FORMAT}" and a list "conversations"`);
    return root.conversations.map((from, i) => {
        if (!Array.isArray(from?.messages))
            throw new Error(`conversations[${i}]: expected a list "messages"`);
        const old = from.head ?? {}, now = Date.now();
        const head = newHead({title: text(old.title) || "Imported conversation",
            system: text(old.system), tools: readTools(JSON.stringify(list(old.tools))),
            created: number(old.created, now), updated: number(old.updated, now)});
        const messages = from.messages
            .filter((message) => message?.role === "user" || message?.role === "assistant")
            .map((message, n) => readMessage(message, head.id, n));
        return {head, messages};
    });
}
