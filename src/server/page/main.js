// SPDX-License-Identifier: Apache-2.0
// main.js: puts the page together: which conversation is open, what happens when something is
// pressed, and how the server is.
import {getJson} from "./api.js";
import {Composer} from "./composer.js";
import {Conversation, isEmpty, newHead, takePartials} from "./conversation.js";
import {announce, byId, el, openMenu, toast} from "./dom.js";
import {MessageView} from "./message_view.js";
import {openSettings} from "./settings_dialog.js";
import {EFFORTS, keepSettings, settings} from "./settings.js";
import {Sidebar} from "./sidebar.js";
import {store} from "./store.js";
import {download, fileName, readJson, toJson, toMarkdown} from "./transfer.js";

const RETRY_MS = 2000; // between looks at a server that does not answer
const server = {ready: false, model: "", nContext: 0, build: "", defaults: {}};
const running = new Map(); // id: conversation that is being answered, also when another is open
const others = new BroadcastChannel("glint-conversations"); // this page in other tabs

let leaving = false; // another page is taking this one's place
let open = null; // the conversation that is shown
let views = []; // of its messages
let lastTop = 0; // how far it was scrolled
let atEnd = true; // the newest line is in sight, and is to stay there

const count = (n) => n.toLocaleString("en");
const scroller = byId("scroller"), log = byId("log");
const sidebar = new Sidebar((id) => {
    location.hash = id;
});
const composer = new Composer({
    send: (text, pictures) => open.say(text, pictures),
    stop: () => open.stop(),
});

// ---- showing a conversation -------------------------------------------------------------------

const actions = {
    goOn: () => open.answer(true),

    retry: (message) => replaceFrom(message.n, "The answer was replaced."),

    async edit(message, text) {
        if (message.role === "assistant") {
            message.text = text;
            await open.keep(message);
            show(open);
        } else {
            const {pictures} = message;
            await replaceFrom(message.n, "What followed was replaced.", {text, pictures});
        }
    },

    // null: that result is still to be given.
    async giveResults(message, results) {
        const conversation = open;
        await cutWithUndo(message.n + 1, "What followed was taken back.");
        message.calls.forEach((call, i) => {
            call.result = results[i];
        });
        conversation.keep(message);
        conversation.onchange();
        if (results.every((result) => result !== null))
            conversation.answer();
    },
};

// Messages from number n on make room for a new answer, after what the person says instead if
// anything. They come back when the person wants.
async function replaceFrom(n, told, said = null) {
    const conversation = open;
    await cutWithUndo(n, told);
    if (said)
        conversation.say(said.text, said.pictures ?? []);
    else
        conversation.answer();
}

async function cutWithUndo(n, told) {
    const conversation = open;
    await conversation.stop();
    const gone = await conversation.cut(n);
    if (gone.every(isEmpty)) // nothing that anybody would miss
        return;
    toast(told, {label: "Undo", run: async () => {
        await conversation.stop();
        await conversation.restore(n, gone);
    }});
}

function changed(conversation, message) {
    if (leaving)
        return;
    if (conversation.running)
        running.set(conversation.head.id, conversation);
    else if (running.delete(conversation.head.id))
        finished(conversation);
    if (conversation === open)
        schedule(message);
    if (!sidebar.heads.includes(conversation.head)) {
        sidebar.heads.push(conversation.head);
        composer.keepAt(conversation.head.id);
        location.hash = conversation.head.id;
    }
    if (sidebar.busy.has(conversation.head.id) !== Boolean(conversation.running) || !message)
        drawSidebar();
}

function finished(conversation) {
    const message = conversation.last;
    others.postMessage(conversation.head.id);
    if (conversation !== open)
        return;
    if (message.error) {
        if (message.error.status === 401)
            askForKey();
        else if (message.error.status === 0 || message.error.status === 503)
            watchServer();
    } else {
        const calls = message.calls.map((call) => `Calls the tool ${call.name}.`).join(" ");
        announce(`Answer: ${message.text} ${calls}`);
    }
}

// Redraws at most once a frame, however fast the answer grows.
let waiting = null;

function schedule(message) {
    if (waiting === null)
        requestAnimationFrame(() => {
            const what = waiting;
            waiting = null;
            if (what.all || views.length !== open.messages.length)
                show(open);
            else
                what.views.forEach((n) => views[n]?.update());
            settle();
        });
    waiting ??= {all: false, views: new Set()};
    if (message)
        waiting.views.add(message.n);
    else
        waiting.all = true;
}

// Makes views those of the conversation's messages, keeping the ones that are right.
function show(conversation) {
    const {messages} = conversation;
    let same = 0;
    while (same < messages.length && views[same]?.message === messages[same])
        same++;
    views.splice(same).forEach((view) => view.root.remove());
    views.forEach((view) => view.update());
    for (const message of messages.slice(same)) {
        const view = new MessageView(conversation, message, actions);
        views.push(view);
        log.append(view.root);
    }
    settle();
}

// What stands around the messages.
function settle() {
    const {head, messages} = open;
    byId("welcome").hidden = messages.length > 0;
    byId("title").textContent = head.title || "New conversation";
    document.title = head.title ? head.title + " · glint" : "glint";
    byId("chat-menu").hidden = messages.length === 0;
    byId("tools-chip").hidden = head.tools.length === 0;
    byId("tools-chip").textContent = head.tools.length === 1 ? "1 tool"
        : head.tools.length + " tools";
    composer.setAnswering(Boolean(open.running));
    const used = messages.findLast((message) => message.stats?.total_n)?.stats.total_n;
    byId("context").textContent = used && server.nContext
        ? `${count(used)} of ${count(server.nContext)} tokens used` : "";
    stayAtEnd();
}

function stayAtEnd() {
    if (atEnd)
        scroller.scrollTop = scroller.scrollHeight;
    lookAtEnd();
}

// Text that grows below does not take anybody from the end; only scrolling up does.
function lookAtEnd() {
    const {scrollTop, scrollHeight, clientHeight} = scroller;
    atEnd = scrollHeight - scrollTop - clientHeight < 48 || (atEnd && scrollTop >= lastTop);
    lastTop = scrollTop;
    byId("to-end").hidden = atEnd;
}

function turnTo(conversation) {
    open = conversation;
    open.onchange = (message) => changed(conversation, message);
    open.onfailure = (error) => toast("This conversation cannot be kept in the browser: " +
        error.message);
    views = [];
    log.replaceChildren();
    atEnd = true;
    lastTop = 0;
    show(open);
    composer.turnTo(sidebar.heads.includes(open.head) ? open.head.id : "new");
    drawSidebar();
}

function drawSidebar() {
    sidebar.current = open?.head.id;
    sidebar.busy = new Set(running.keys());
    sidebar.draw();
}

// The address names the conversation, so that reloading and going back work.
async function followAddress() {
    const id = location.hash.slice(1);
    const head = sidebar.heads.find((some) => some.id === id);
    if (open && (id === open.head.id || (!head && !sidebar.heads.includes(open.head))))
        return;
    if (head)
        turnTo(running.get(id) ?? await Conversation.load(head));
    else
        turnTo(new Conversation(newHead(), []));
}

function startNew() {
    sidebar.closeIfNarrow();
    turnTo(new Conversation(newHead(), []));
    location.hash = "";
    composer.field.focus();
}

// ---- what can be done with a conversation -----------------------------------------------------

function rename() {
    const dialog = byId("rename-dialog"), field = byId("new-title");
    field.value = open.head.title;
    dialog.onclose = () => {
        if (dialog.returnValue !== "rename" || field.value.trim() === "")
            return;
        open.head.title = field.value.trim();
        open.keep();
        others.postMessage(open.head.id);
        settle();
        drawSidebar();
    };
    dialog.returnValue = "";
    dialog.showModal();
    field.select();
}

async function remove(conversation) {
    const {head, messages} = conversation;
    conversation.stop();
    conversation.onchange = () => {};
    conversation.keep = async () => {};
    running.delete(head.id);
    sidebar.heads = sidebar.heads.filter((some) => some !== head);
    await store.remove(head.id);
    others.postMessage(head.id);
    startNew();
    toast("The conversation was deleted.", {label: "Undo", run: async () => {
        await add([{head, messages}]);
        location.hash = head.id;
    }});
}

async function add(conversations) {
    for (const {head, messages} of conversations) {
        await new Conversation(head, messages).keep(...messages);
        sidebar.heads.push(head);
        others.postMessage(head.id);
    }
    drawSidebar();
}

function openChatMenu() {
    openMenu(byId("chat-menu"), [
        {label: "Rename", icon: "edit", run: rename},
        {label: "Export as Markdown", icon: "save", run: () =>
            download(fileName(open.head.title, "md"), "text/markdown", toMarkdown(open))},
        {label: "Export as JSON", icon: "save", run: () =>
            download(fileName(open.head.title, "json"), "application/json", toJson([plain(open)]))},
        {label: "Delete", icon: "trash", danger: true, run: () => remove(open)},
    ]);
}

const plain = ({head, messages}) => ({head, messages});

async function exportAll() {
    const all = [];
    for (const head of sidebar.heads)
        all.push(plain(running.get(head.id) ?? await Conversation.load(head)));
    download("glint-conversations.json", "application/json", toJson(all));
}

async function importFile(file) {
    try {
        const conversations = readJson(await file.text());
        await add(conversations);
        toast(conversations.length === 1 ? "Imported 1 conversation."
            : `Imported ${conversations.length} conversations.`);
    } catch (error) {
        toast(`${file.name}: ${error.message}`);
    }
}

async function deleteAll() {
    const all = [];
    for (const conversation of running.values()) {
        conversation.stop();
        conversation.keep = async () => {};
        conversation.onchange = () => {};
    }
    running.clear();
    for (const head of sidebar.heads) {
        all.push(plain(await Conversation.load(head)));
        await store.remove(head.id);
        others.postMessage(head.id);
    }
    sidebar.heads = [];
    startNew();
    toast("All conversations were deleted.", {label: "Undo", run: () => add(all)});
}

function showSettings() {
    openSettings(open.head, server, {
        exportAll, importFile, deleteAll,
        saved() {
            if (open.messages.length)
                open.keep();
            settle();
            connect();
        },
    });
}

// ---- the server -------------------------------------------------------------------------------

function setBanner(text) {
    const banner = byId("banner");
    banner.hidden = text === "";
    banner.textContent = text;
}

// Learns who the server is. Says what is wrong, and tries again while it may become well.
async function connect() {
    clearTimeout(server.timer);
    try {
        const props = await getJson("props");
        const {params = {}, n_ctx: nContext = 0} = props.default_generation_settings ?? {};
        Object.assign(server, {ready: true, model: props.model_alias ?? "", nContext,
            build: props.build_info ?? "", defaults: params});
        byId("model").textContent = server.model;
        byId("welcome-model").textContent = server.model && nContext
            ? `${server.model} answers, with ${count(nContext)} tokens of context.` : "";
        setBanner("");
        settle();
    } catch (error) {
        if (error.status === 401) {
            setBanner("");
            askForKey();
            return;
        }
        setBanner(error.status === 503 && error.message.startsWith("Loading")
            ? "The model is loading…" : error.message + " Trying again…");
        server.timer = setTimeout(connect, RETRY_MS);
    }
}

function watchServer() {
    clearTimeout(server.timer);
    server.timer = setTimeout(connect, RETRY_MS / 4);
}

function askForKey() {
    const dialog = byId("key-dialog");
    if (dialog.open)
        return;
    byId("key").value = dialog.returnValue = "";
    dialog.onclose = () => {
        if (dialog.returnValue !== "use")
            return;
        settings.key = byId("key").value.trim();
        keepSettings();
        connect();
    };
    dialog.showModal();
}

// ---- the start --------------------------------------------------------------------------------

function listen() {
    byId("new-chat").addEventListener("click", startNew);
    byId("open-settings").addEventListener("click", () => {
        sidebar.closeIfNarrow();
        showSettings();
    });
    byId("tools-chip").addEventListener("click", showSettings);
    byId("chat-menu").addEventListener("click", openChatMenu);
    byId("rename-cancel").addEventListener("click", () => byId("rename-dialog").close("cancel"));
    byId("to-end").addEventListener("click", () => {
        scroller.scrollTop = scroller.scrollHeight;
    });
    scroller.addEventListener("scroll", lookAtEnd, {passive: true});
    const observer = new ResizeObserver(stayAtEnd);
    observer.observe(scroller);
    observer.observe(log);
    document.addEventListener("keydown", (event) => {
        const busy = event.defaultPrevented || event.isComposing ||
            document.querySelector("dialog[open], :popover-open");
        if (event.key === "Escape" && !busy)
            open.stop();
    });
    addEventListener("hashchange", followAddress);
    addEventListener("pagehide", () => {
        leaving = true;
        running.forEach((conversation) => conversation.leave());
    });
    addEventListener("pageshow", (event) => event.persisted && location.reload());
    // Answers of other tabs, and what was renamed or deleted there.
    others.onmessage = async ({data: id}) => {
        sidebar.heads = await store.chats();
        const head = sidebar.heads.find((some) => some.id === open.head.id);
        running.forEach(({head: mine}) => {
            sidebar.heads = sidebar.heads.map((some) => some.id === mine.id ? mine : some);
        });
        if (head && id === head.id && !open.running)
            turnTo(await Conversation.load(head));
        drawSidebar();
    };
    setInterval(() => {
        if (open.running)
            views[views.length - 1]?.tick();
    }, 250);
}

function fillEfforts() {
    const select = byId("effort");
    select.append(el("option", {value: ""}, "default"),
        ...EFFORTS.map((effort) => el("option", {value: effort}, effort)));
    select.value = settings.effort;
    select.addEventListener("change", () => {
        settings.effort = select.value;
        keepSettings();
    });
}

async function start() {
    fillEfforts();
    await takePartials();
    sidebar.heads = await store.chats();
    await followAddress();
    listen();
    connect();
    if (!store.kept)
        toast("This window keeps nothing: conversations are gone when it is closed.");
    if (matchMedia("(pointer: fine)").matches)
        composer.field.focus();
    document.documentElement.dataset.ready = "yes";
}

start();
