// SPDX-License-Identifier: Apache-2.0
// message_view.js: one message on the page: text, pictures, folded reasoning, tool calls with a
// place for their results, what went wrong, how fast it was, and what can be done with it.
import {copyButton, el, icon, iconButton} from "./dom.js";
import {showMarkdown} from "./markdown.js";

const count = (n) => Math.round(n).toLocaleString("en");
const seconds = (ms) => ms < 10000 ? (ms / 1000).toFixed(1) + " s" : Math.round(ms / 1000) + " s";
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// Errors of servers begin small; those that begin with a field's name stay as they are.
const sentence = (text) => /^[a-z]+ /.test(text) ? text[0].toUpperCase() + text.slice(1) : text;

const NOTES = {
    length: "The answer ended at its length limit.",
    stopped: "Stopped.",
    interrupted: "Interrupted: the page was left.",
};

function statsText(stats) {
    const parts = [];
    if (stats.predicted_n > 0) {
        parts.push(plural(stats.predicted_n, "token"));
        if (stats.predicted_per_second > 0)
            parts.push(stats.predicted_per_second.toFixed(1) + " tok/s");
    }
    if (stats.prompt_n >= 0)
        parts.push(`prompt ${count(stats.prompt_n + (stats.cache_n ?? 0))}, ` +
            `${count(stats.cache_n ?? 0)} cached`);
    if (stats.first_ms > 0)
        parts.push("first after " + seconds(stats.first_ms));
    const {proposed = 0, accepted = 0} = stats.draft ?? {};
    if (proposed > 0)
        parts.push(`drafts ${Math.round(100 * accepted / proposed)} % right`);
    return parts.join(" · ");
}

// Arguments as names and values where they are an object; as they came while they are incomplete.
function drawArguments(source) {
    let values = null;
    try {
        values = JSON.parse(source);
    } catch {
        // still coming
    }
    if (values === null || typeof values !== "object" || Array.isArray(values))
        return el("pre", {}, source);
    const rows = Object.entries(values);
    if (rows.length === 0)
        return el("p", {class: "none"}, "no arguments");
    return el("dl", {}, ...rows.map(([name, value]) => el("div", {}, el("dt", {}, name),
        el("dd", {}, typeof value === "string" ? value : JSON.stringify(value, null, 1)))));
}

export class MessageView {
    // actions: {retry, goOn, edit(message, text), giveResults(message, results)}
    constructor(conversation, message, actions) {
        this.conversation = conversation;
        this.message = message;
        this.actions = actions;
        this.parts = {}; // name: its element
        this.folded = null; // what the person chose for the reasoning
        const mine = message.role === "user";
        this.root = el("article", {class: "message " + message.role},
            el("h2", {class: "unseen"}, mine ? "You" : "Answer"));
        this.update();
    }

    get running() {
        const {running} = this.conversation;
        return running?.message === this.message ? running : null;
    }

    // Puts an element into its place, takes it away, or leaves it when `key` is what it was.
    part(name, key, draw) {
        const old = this.parts[name];
        if (old?.key === key)
            return;
        const node = key === null ? document.createComment(name) : draw();
        if (old)
            old.node.replaceWith(node);
        else
            this.root.append(node);
        this.parts[name] = {key, node};
    }

    update() {
        if (this.editing)
            return;
        const {message} = this;
        if (message.role === "user") {
            this.part("pictures", message.pictures?.length ? "shown" : null,
                () => this.drawPictures());
            this.part("text", message.text || null,
                () => el("div", {class: "bubble"}, message.text));
            this.part("actions", "user", () => this.drawActions());
            return;
        }
        this.updateReasoning();
        this.part("waiting", this.running?.phase === "waiting" ? "shown" : null,
            () => el("p", {class: "waiting"}, icon("star"), el("span", {}, "Reading")));
        this.part("text", message.text === "" ? null : "shown", () => el("div", {class: "prose"}));
        if (message.text !== this.shownText && message.text !== "")
            showMarkdown(this.parts.text.node, message.text);
        this.shownText = message.text;
        this.updateCalls();
        this.part("error", message.error ? message.error.text : null, () => this.drawError());
        const noted = !message.error && NOTES[message.finish] && !this.running;
        this.part("note", noted ? message.finish : null,
            () => el("p", {class: "note"}, NOTES[message.finish]));
        const last = message === this.conversation.last;
        this.part("actions", this.running ? null
            : [message.finish, last, Boolean(message.stats), Boolean(this.conversation.running),
                message.calls.some((call) => call.result !== null)].join(),
        () => this.drawActions());
        this.root.setAttribute("aria-busy", String(Boolean(this.running)));
        this.tick();
    }

    // The seconds that go by.
    tick() {
        const {running, message} = this;
        const summary = this.parts.reasoning?.node.querySelector?.("summary span");
        if (summary) {
            const ms = message.reasoningMs + (running?.thinking
                ? performance.now() - running.thinking : 0);
            const text = running?.thinking ? `Thinking… ${Math.floor(ms / 1000)} s`
                : `Thought for ${seconds(Math.max(ms, 100))}`;
            if (summary.textContent !== text)
                summary.textContent = text;
        }
        const waiting = this.parts.waiting?.node.querySelector?.("span");
        if (waiting && running) {
            const s = Math.floor((performance.now() - running.began) / 1000);
            waiting.textContent = s < 2 ? "Reading" : `Reading… ${s} s`;
        }
    }

    // ---- parts --------------------------------------------------------------------------------

    drawPictures() {
        return el("div", {class: "pictures"}, ...this.message.pictures.map((picture) =>
            el("img", {src: picture.url, alt: picture.name, title: picture.name})));
    }

    updateReasoning() {
        const {message} = this;
        this.part("reasoning", message.reasoning === "" ? null : "shown", () => {
            const summary = el("summary", {}, icon("chevron"), el("span"));
            summary.addEventListener("click", () => {
                this.folded = this.parts.reasoning.node.open;
            });
            return el("details", {class: "reasoning"}, summary, el("div", {class: "prose"}));
        });
        if (message.reasoning === "")
            return;
        const {node} = this.parts.reasoning;
        const open = this.folded === null ? Boolean(this.running?.thinking) : !this.folded;
        if (node.open !== open)
            node.open = open;
        if (open || this.running)
            showMarkdown(node.lastChild, message.reasoning);
        else if (!node.ontoggle) // drawn when it is looked at
            node.ontoggle = () => node.open && showMarkdown(node.lastChild, message.reasoning);
    }

    updateCalls() {
        const {message} = this;
        const key = message.calls.length === 0 ? null
            : JSON.stringify([message.calls, Boolean(this.running)]);
        this.part("calls", key, () => this.drawCalls());
    }

    drawCalls() {
        const {message} = this;
        const open = !this.running && message.calls.some((call) => call.result === null);
        const fields = [];
        const cards = message.calls.map((call, i) => {
            const card = el("section", {class: "call", "aria-label": "Tool call " + call.name},
                el("header", {}, icon("tool"), el("h3", {}, call.name),
                    copyButton("Copy arguments", () => call.arguments)),
                drawArguments(call.arguments));
            if (call.result !== null) {
                card.append(el("h4", {}, "Result"), el("pre", {class: "result"}, call.result));
            } else if (open) {
                const id = `result-${message.n}-${i}`;
                const field = el("textarea", {id, rows: "2", spellcheck: "false",
                    placeholder: "What the tool answers, as text or JSON"});
                field.value = this.oldResults?.[i] ?? "";
                fields[i] = field;
                card.append(el("label", {for: id}, "Result"), field);
            }
            return card;
        });
        const form = el("form", {class: "calls", "aria-label": "Tool calls", onsubmit: (event) => {
            event.preventDefault();
            this.actions.giveResults(message,
                message.calls.map((call, i) => fields[i]?.value ?? call.result));
        }}, ...cards);
        if (open)
            form.append(el("button", {type: "submit", class: "primary"},
                message.calls.length === 1 ? "Send the result" : "Send the results"));
        return form;
    }

    drawError() {
        return el("div", {class: "error", role: "alert"}, icon("warning"),
            el("p", {}, sentence(this.message.error.text)));
    }

    drawActions() {
        const {message, conversation} = this;
        const idle = !conversation.running;
        const row = el("div", {class: "actions"});
        if (message.text !== "")
            row.append(copyButton("Copy message", () => message.text));
        if (message.role === "user" || (message.calls.length === 0 && message.text !== "") ||
            message.calls.some((call) => call.result !== null))
            row.append(iconButton("edit", "Edit message", () => this.edit()));
        if (message.role === "assistant") {
            const retry = () => this.actions.retry(message);
            row.append(message.error
                ? el("button", {type: "button", class: "chip", onclick: retry}, icon("retry"),
                    "Try again")
                : iconButton("retry", "Retry", retry));
            if (idle && conversation.canGoOn(message))
                row.append(el("button", {type: "button", class: "chip",
                    onclick: () => this.actions.goOn()}, icon("go"), "Go on"));
            if (message.stats)
                row.append(el("span", {class: "stats"}, statsText(message.stats)));
        }
        return row;
    }

    // ---- editing ------------------------------------------------------------------------------

    // Of an answer with tool calls the results are edited, else the text.
    edit() {
        const {message} = this;
        if (message.calls?.length) {
            this.oldResults = message.calls.map((call) => call.result);
            this.actions.giveResults(message, message.calls.map(() => null));
            return;
        }
        const mine = message.role === "user";
        const field = el("textarea", {"aria-label": "Text",
            rows: String(Math.min(20, message.text.split("\n").length + 1))});
        field.value = message.text;
        const form = el("form", {class: "editor", "aria-label": "Edit message"}, field,
            el("div", {class: "buttons"},
                el("button", {type: "button", onclick: () => this.endEdit()}, "Cancel"),
                el("button", {type: "submit", class: "primary"}, mine ? "Send" : "Save")));
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            const text = field.value;
            if (text.trim() === "" && !message.pictures?.length)
                return;
            this.endEdit();
            this.actions.edit(message, text);
        });
        form.addEventListener("keydown", (event) => {
            if (event.key === "Escape") {
                event.stopPropagation();
                this.endEdit();
            } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && mine) {
                event.preventDefault();
                form.requestSubmit();
            }
        });
        this.editing = form;
        this.root.classList.add("edited");
        this.root.append(form);
        field.focus();
        field.setSelectionRange(field.value.length, field.value.length);
    }

    endEdit() {
        this.editing?.remove();
        this.editing = null;
        this.root.classList.remove("edited");
        this.update();
        this.root.querySelector('button[aria-label="Edit message"]')?.focus();
    }
}
