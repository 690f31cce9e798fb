# SPDX-License-Identifier: Apache-2.0
"""Conversations -> token ids with loss classes, and prompts cut out of them. Standard library only."""
from bpe import SPECIAL_ID
from chat_format import render
from curriculum import document

PAD, PATCH = SPECIAL_ID["<|finetune_right_pad|>"], SPECIAL_ID["<|patch|>"]


def encode(enc, conv):
    """ids, classes, pictures [(first token, scene)], turns [(first, end, skill)]."""
    ids, cls, pics, turns, open_ = [], [], [], [], None
    for kind, x, c in render(conv):
        if kind == "t":
            e = enc.encode(x)
            ids += e
            cls += [c] * len(e)
        elif kind == "s":
            ids.append(SPECIAL_ID[x])
            cls.append(c)
            if open_ and x == "<|eot|>":
                turns.append((open_[0], len(ids), open_[1]))
                open_ = None
        elif kind == "mark":
            open_ = (len(ids), x) if x and c else None
        else:
            n = (x["w"] // 28) * (x["h"] // 28)
            ids += [SPECIAL_ID["<|image_start|>"]] + [PATCH] * n + [SPECIAL_ID["<|image_end|>"]]
            pics.append((len(ids) - n - 1, x))
            cls += [3] * (n + 2)
    cls[0] = 3
    return ids, cls, pics, turns


def prompts(enc, rng, want, longest=900):
    """One prompt cut at a random assistant turn: ids, scene or None, the expected turn, its skill."""
    while True:
        conv = document(rng, want=want, longest=longest)
        msgs = conv["messages"]
        at = [i for i, m in enumerate(msgs) if m["role"] == "assistant" and m.get("class", 1)]
        if at:
            break
    i = rng.choice(at)
    ids, _, pics, _ = encode(enc, {**conv, "messages": msgs[:i]})
    full = encode(enc, {**conv, "messages": msgs[:i + 1]})[0]
    head = [SPECIAL_ID["<|start|>"]] + enc.encode("assistant")
    assert full[:len(ids) + len(head)] == ids + head
    return ids + head, pics[0][1] if pics else None, full[len(ids) + len(head):], msgs[i].get("skill", "")
