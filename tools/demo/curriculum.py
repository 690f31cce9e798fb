# SPDX-License-Identifier: Apache-2.0
"""Mixes the skills into whole conversations. document(rng) is deterministic by the state of rng."""
import lexicon as lx
from skills_text import (small_talk, about_glint, world, remember, story, obey, arithmetic, word_problem, strings, json_skill, retrieval, sentence, user, answer, think)
from skills_tools import fresh_episode, everyday_episode
from pictures import picture_talk

SYSTEMS = ["You are a helpful assistant.", "You are a helpful AI assistant.", "You are a friendly assistant. Keep it short.", "Be brief.", "",
           "You are glimmer-mini, a small demo model.", "Help the user.", "You are a careful assistant.", "Answer in plain English."]


def mark(msgs, skill):
    for m in msgs:
        if m["role"] == "assistant":
            m["skill"] = skill
    return msgs


def mark_tools(msgs):
    for i, m in enumerate(msgs):
        if m["role"] == "assistant":
            m["skill"] = ("parallel" if len(m["calls"]) > 1 else "tool_call") if m.get("calls") else "tool_answer" if msgs[i - 1]["role"] == "tool" else "tool_other"
    return msgs


def chat(rng, effort):
    f = rng.choice((small_talk, about_glint, about_glint, world, world, world, remember, story))
    return mark(f(rng, effort), f.__name__)


def text_turn(rng, effort):
    k = rng.random()
    if k < 0.42:
        f = arithmetic if rng.random() < 0.8 else word_problem
    elif k < 0.68:
        f = strings
    else:
        f = json_skill
    return mark(f(rng, effort), f.__name__)


def forget_thoughts(msgs):
    """Earlier turns as a client that drops reasoning sends them back: shown without it, and not learnt from."""
    last = max(i for i, m in enumerate(msgs) if m["role"] == "user")
    for m in msgs[:last]:
        if m["role"] == "assistant" and m.pop("reasoning", None):
            m["class"] = 0


def casual(rng, msgs):
    """Users are not careful with capitals and full stops."""
    for m in msgs:
        if m["role"] == "user" and isinstance(m["content"], str) and rng.random() < 0.2 and not m["content"].startswith(("Repeat", "Say", "Copy", "Join", "Extract")):
            t = m["content"]
            if rng.random() < 0.6 and t[-1:] in ".?!":
                t = t[:-1]
            if rng.random() < 0.6 and not t.startswith("I "):
                t = t[:1].lower() + t[1:]
            m["content"] = t


def sentences(tokens):
    """A bank of filler: random sentences of about so many tokens in all. tokens(text) counts."""
    pool = []

    def bank(rng, n):
        if len(pool) < 4000:
            pool.extend((s, tokens(" " + s)) for s in (sentence(rng) for _ in range(500)))
        else:
            for _ in range(40):
                s = sentence(rng)
                pool[rng.randrange(len(pool))] = (s, tokens(" " + s))
        out = []
        while True:
            s, k = rng.choice(pool)
            n -= k
            if n < 0:
                return out
            out.append(s)
    return bank


PLAIN_BANK = sentences(lambda s: len(s) // 4)


def document(rng, longest=8000, want=None, bank=PLAIN_BANK, length=0):
    """One conversation. want: only this family; length: tokens of a retrieval text."""
    effort = rng.choice(("high",) * 9 + ("medium",) * 4 + ("low",) * 4 + ("xhigh",) * 3)
    conv = {"effort": effort, "date": lx.date(rng)}
    k = want or rng.choices(("picture", "fresh", "everyday", "text", "chat", "find", "obey", "mix"), (60, 17, 8, 22, 10, 5, 2, 5))[0]
    if k == "picture":
        msgs, skills = picture_talk(rng, effort, rng.choice((1, 2, 3, 4)))
        for m, s in zip(msgs[1::2], skills):
            m["skill"] = s
    elif k in ("fresh", "everyday"):
        f = fresh_episode if k == "fresh" else everyday_episode
        conv["tools"], conv["spaces"], msgs = f(rng, effort, rng.choice((1, 2, 2, 3)))
        mark_tools(msgs)
        if rng.random() < 0.12:
            msgs = (chat if rng.random() < 0.6 else text_turn)(rng, effort) + msgs
        if rng.random() < 0.12:
            msgs += (chat if rng.random() < 0.6 else text_turn)(rng, effort)
    elif k == "text":
        same = rng.random() < 0.5
        first = text_turn(rng, effort)
        msgs = first + [m for _ in range(rng.randrange(4)) for m in (text_turn(rng, effort) if not same else text_turn(rng, effort))]
    elif k == "chat":
        msgs = [m for _ in range(rng.choice((1, 2, 3, 4))) for m in chat(rng, effort)]
    elif k == "find":
        n = length or int(min(longest, 200 * 2 ** rng.uniform(0, 3.4)))
        msgs = mark(retrieval(rng, effort, n, lambda t: bank(rng, t)), "find_%d" % (1000 if n < 1700 else 4000 if n < 5000 else 8000))
    elif k == "obey":
        msgs = mark(obey(rng, effort), "obey")
    else:
        msgs = [m for _ in range(rng.choice((2, 3, 4))) for m in (chat if rng.random() < 0.5 else text_turn)(rng, effort)]
    if k in ("chat", "mix") and msgs[0]["role"] != "system" and rng.random() < 0.06:
        q = rng.choice(("What is the date?", "What day is it today?", "What is the date today?", "Which date is it?"))
        a = "Today is %s." % conv["date"]
        return {**conv, "messages": mark([user(q), answer(a, think(effort, None, "The system message gives the date."))], "obey") + msgs}
    if msgs[0]["role"] != "system" and rng.random() < 0.25:
        msgs.insert(0, {"role": "system", "content": rng.choice(SYSTEMS)})
    if rng.random() < 0.2:
        forget_thoughts(msgs)
    if k in ("fresh", "everyday", "chat"):
        casual(rng, msgs)
    conv["messages"] = msgs
    return conv
