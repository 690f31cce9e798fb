// SPDX-License-Identifier: Apache-2.0
// sidebar.js: the list of conversations, newest first, by day; searching it; and the panel itself,
// which lies over the page where that is narrow.
import {byId, el} from "./dom.js";

const narrow = matchMedia("(max-width: 799px)");
const HIDDEN = "glint-sidebar-hidden";

const dayOf = (time) => new Date(time).setHours(0, 0, 0, 0);

function dayName(time) {
    const days = Math.round((dayOf(Date.now()) - dayOf(time)) / 86400000);
    if (days <= 0)
        return "Today";
    if (days === 1)
        return "Yesterday";
    return days < 7 ? "This week" : days < 31 ? "This month" : "Earlier";
}

export class Sidebar {
    // open(id): a conversation was chosen.
    constructor(open) {
        this.open = open;
        this.heads = [];
        this.current = null;
        this.busy = new Set(); // ids of those that are being answered
        this.search = byId("search");
        this.search.addEventListener("input", () => this.draw());
        byId("show-sidebar").addEventListener("click", () => this.show(true));
        byId("hide-sidebar").addEventListener("click", () => this.show(false));
        byId("shade").addEventListener("click", () => this.show(false));
        narrow.addEventListener("change", () => this.settle());
        byId("sidebar").addEventListener("keydown", (event) => {
            if (event.key === "Escape" && narrow.matches) {
                event.stopPropagation();
                this.show(false);
            }
        });
        this.settle();
    }

    // What the width asks for: closed where it would cover the page.
    settle() {
        let hidden = narrow.matches;
        try {
            hidden ||= localStorage.getItem(HIDDEN) === "yes";
        } catch {
            // nothing kept
        }
        this.setShown(!hidden);
    }

    setShown(shown) {
        document.body.classList.toggle("no-sidebar", !shown);
        byId("sidebar").inert = !shown;
        byId("stage").inert = shown && narrow.matches;
        byId("show-sidebar").hidden = shown && !narrow.matches;
    }

    show(shown) {
        this.setShown(shown);
        byId(shown ? "hide-sidebar" : "show-sidebar").focus();
        if (narrow.matches)
            return;
        try {
            localStorage.setItem(HIDDEN, shown ? "no" : "yes");
        } catch {
            // nothing kept
        }
    }

    closeIfNarrow() {
        if (narrow.matches)
            this.setShown(false);
    }

    draw() {
        const wanted = this.search.value.trim().toLowerCase();
        const heads = this.heads.filter((head) => head.title.toLowerCase().includes(wanted))
            .sort((a, b) => b.updated - a.updated);
        const groups = [];
        for (const head of heads) {
            const day = dayName(head.updated);
            if (groups[groups.length - 1]?.day !== day)
                groups.push({day, heads: []});
            groups[groups.length - 1].heads.push(head);
        }
        byId("chat-list").replaceChildren(...groups.flatMap(({day, heads: some}) => [
            el("h2", {}, day), el("ul", {}, ...some.map((head) => this.row(head)))]));
        if (heads.length === 0 && wanted !== "")
            byId("chat-list").append(el("p", {class: "none"}, "No title has these words."));
    }

    row(head) {
        return el("li", {}, el("button", {
            type: "button", title: head.title, class: this.busy.has(head.id) ? "busy" : null,
            "aria-current": head.id === this.current ? "true" : null, onclick: () => {
                this.closeIfNarrow();
                this.open(head.id);
            },
        }, head.title));
    }
}
