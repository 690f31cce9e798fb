// SPDX-License-Identifier: Apache-2.0
// conversation.js: one conversation: its messages, what a request makes of them, and the answer
// that is being written. Knows nothing of the page; tells of changes through `onchange`.
//
// A message: {chat, n, role: "user" | "assistant", text, time}, a user's also {pictures: [{name,
// url}]}, an assistant's {reasoning, reasoningMs, calls: [{id, name, arguments, result}], finish,
// error, stats}. finish: null while it is written, then the server's reason, "stopped", "error", or
// "interrupted" (the page was left). A call's result is null until a person gives one.
import {ApiError, streamChat} from "./api.js";
import {SAMPLING, settings} from "./settings.js";
import {store} from "./store.js";

const SAVE_MS = 500; // between saves of a growing answer
const PARTIAL = "glint-partial:"; // of localStorage: answers that were being written on leaving

// Unlike randomUUID this exists on pages that came over plain HTTP.
export function randomId() {
    const bytes = crypto.getRandomValues(new Uint8Array(12));
    return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function newHead(fields = {}) {
    const now = Date.now();
    return {id: randomId(), title: "", created: now, updated: now, system: settings.system,
        tools: settings.tools, ...fields};
}

// ---- what the server is asked -----------------------------------------------------------------

function userContent(message) {
    if (!message.pictures?.length)
        return message.text;
    const parts = message.pictures.map(({url}) => ({type: "image_url", image_url: {url}}));
    return message.text === "" ? parts : [...parts, {type: "text", text: message.text}];
}

function assistantMessages(message) {
    const said = {role: "assistant", content: message.text};
    if (message.reasoning)
        said.reasoning_content = message.reasoning;
    if (!message.calls.length)
        return [said];
    said.tool_calls = message.calls.map((call) => ({id: call.id, type: "function",
        function: {name: call.name, arguments: call.arguments}}));
    return [said, ...message.calls.map((call) => ({role: "tool", tool_call_id: call.id,
        content: call.result ?? "No result was given."}))];
}

export const isEmpty = (message) => message.role === "assistant" && message.text === "" &&
    message.calls.length === 0;

export function toMessages(system, messages) {
    const list = messages.filter((message) => !isEmpty(message)).flatMap((message) =>
        message.role === "user" ? [{role: "user", content: userContent(message)}]
            : assistantMessages(message));
    return system.trim() === "" ? list : [{role: "system", content: system}, ...list];
}

function requestBody(head, messages, goOn) {
    const body = {messages: toMessages(head.system, messages), stream: true,
        stream_options: {include_usage: true}};
    if (head.tools.length)
        body.tools = head.tools;
    if (settings.effort)
        body.reasoning_effort = settings.effort;
    for (const {name} of SAMPLING)
        if (typeof settings.sampling[name] === "number")
            body[name] = settings.sampling[name];
    if (goOn)
        Object.assign(body, {continue_final_message: true, add_generation_prompt: false});
    return body;
}

// ---- the conversation -------------------------------------------------------------------------

export class Conversation {
    // onchange(message): the message is new, has grown, or is finished; without one: several.
    constructor(head, messages) {
        this.head = head;
        this.messages = messages;
        this.running = null; // {controller, message, phase, began, first} while answering
        this.onchange = () => {};
        this.onfailure = () => {}; // of keeping it, with the error
        this.answering = null; // the promise of the last answer
        this.left = false; // the page is gone
        this.savedAt = 0;
    }

    static async load(head) {
        const messages = await store.messages(head.id);
        for (const message of messages)
            if (message.role === "assistant" && message.finish === null)
                message.finish = "interrupted";
        return new Conversation(head, messages);
    }

    get last() {
        return this.messages[this.messages.length - 1];
    }

    async keep(...messages) {
        try {
            await store.put(this.head, messages);
        } catch (error) {
            this.onfailure(error);
        }
    }

    add(fields) {
        const message = {chat: this.head.id, n: this.messages.length, text: "", time: Date.now(),
            ...fields};
        this.messages.push(message);
        this.head.updated = message.time;
        return message;
    }

    // Takes messages off the end; returns them, for `restore`.
    async cut(from) {
        const gone = this.messages.splice(from);
        try {
            await store.cut(this.head.id, from);
        } catch (error) {
            this.onfailure(error);
        }
        this.onchange();
        return gone;
    }

    async restore(from, gone) {
        await this.cut(from);
        this.messages.push(...gone);
        await this.keep(...gone);
        this.onchange();
    }

    async say(text, pictures) {
        while (this.last && isEmpty(this.last))
            await this.cut(this.messages.length - 1);
        const message = this.add({role: "user", text, pictures});
        if (!this.head.title)
            this.head.title = titleOf(message);
        this.onchange(message);
        this.keep(message);
        await this.answer();
    }

    // Can the last answer be written on from where it ends?
    canGoOn(message) {
        return message === this.last && message.role === "assistant" && message.text !== "" &&
            !message.calls.length && !["stop", null].includes(message.finish);
    }

    // Ends the answer that is being written, and waits until it is kept.
    async stop() {
        this.running?.controller.abort();
        await this.answering;
    }

    // Asks for an answer to what there is, or for more of the last one.
    async answer(goOn = false) {
        if (this.running)
            return;
        this.answering = this.run(goOn);
        await this.answering;
    }

    async run(goOn) {
        const body = requestBody(this.head, this.messages, goOn);
        const message = goOn ? this.last : this.add({role: "assistant", reasoning: "",
            reasoningMs: 0, calls: []});
        Object.assign(message, {finish: null, error: null, stats: null});
        const controller = new AbortController();
        const running = {controller, message, phase: "waiting", began: performance.now(), first: 0};
        this.running = running;
        this.onchange(message);
        this.keep(message);
        try {
            for await (const event of streamChat(body, controller.signal)) {
                this.take(event, message, running);
                this.saveSoon(message);
                this.onchange(message);
            }
            message.finish ??= "stop";
        } catch (error) {
            if (this.left)
                return;
            const stopped = controller.signal.aborted;
            message.finish = stopped ? "stopped" : "error";
            if (!stopped)
                message.error = error instanceof ApiError
                    ? {text: error.message, status: error.status}
                    : {text: "The page failed: " + error.message, status: 0};
        }
        this.endThinking(message, running);
        this.running = null;
        this.head.updated = Date.now();
        this.onchange(message);
        await this.keep(message);
    }

    take(event, message, running) {
        const choice = event.choices?.[0], delta = choice?.delta ?? {};
        const reasoning = delta.reasoning_content ?? "", text = delta.content ?? "";
        const calls = delta.tool_calls ?? [];
        if (running.phase === "waiting" && (reasoning || text || calls.length))
            running.first = performance.now() - running.began;
        if (reasoning && running.phase !== "thinking") {
            running.phase = "thinking";
            running.thinking = performance.now();
        }
        if (text || calls.length) {
            this.endThinking(message, running);
            running.phase = "answering";
        }
        message.reasoning += reasoning;
        message.text += text;
        for (const call of calls)
            takeCall(message.calls, call);
        message.finish = choice?.finish_reason ?? message.finish;
        if (event.timings)
            message.stats = {...event.timings, first_ms: running.first};
        if (event.usage)
            message.stats = {...message.stats, total_n: event.usage.total_tokens};
    }

    endThinking(message, running) {
        if (running.thinking)
            message.reasoningMs += performance.now() - running.thinking;
        running.thinking = 0;
    }

    saveSoon(message) {
        const now = performance.now();
        if (now - this.savedAt < SAVE_MS)
            return;
        this.savedAt = now;
        this.keep(message);
    }

    // Called when the page goes away, where the database has no time any more.
    leave() {
        if (!this.running)
            return;
        this.left = true;
        this.endThinking(this.running.message, this.running);
        try {
            localStorage.setItem(PARTIAL + this.head.id, JSON.stringify(this.running.message));
        } catch {
            // too long: the last save holds all but half a second of it
        }
    }
}

function takeCall(calls, delta) {
    const at = delta.index ?? calls.length;
    calls[at] ??= {id: delta.id ?? "call_" + at, name: delta.function?.name ?? "", arguments: "",
        result: null};
    calls[at].arguments += delta.function?.arguments ?? "";
}

function titleOf(message) {
    const line = message.text.trim().split("\n")[0];
    const short = line.length > 60 ? line.slice(0, 59).trimEnd() + "…" : line;
    return short || (message.pictures?.length ? "Picture" : "Conversation");
}

// Puts answers that were being written when the page was left where they belong.
export async function takePartials() {
    const heads = await store.chats();
    const names = Object.keys(localStorage).filter((name) => name.startsWith(PARTIAL));
    for (const name of names) {
        const text = localStorage.getItem(name);
        localStorage.removeItem(name);
        const message = JSON.parse(text);
        const head = heads.find((some) => some.id === message.chat);
        if (head)
            await store.put(head, [{...message, finish: message.finish ?? "interrupted"}]);
    }
}
