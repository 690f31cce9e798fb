# SPDX-License-Identifier: Apache-2.0
"""Pictures of coloured shapes and digits. A scene is plain data; shapes are small tables of signed distances (the atlas), so that
the trainer (on the GPU) and evaluate (here, in plain Python) draw the same pixels.

scene: {"w", "h", "back": (r, g, b), "soft": edge width in pixels, "noise": 0..8, "items": [...]}; item: {"kind": atlas index, "x", "y",
"size": half size in pixels, "turn": radians, "rgb"}; shapes also have "shape", "colour" and "cell".
"""
import math
import random
import struct
import zlib
from lexicon import NUMBER_WORDS, join, plural
from skills_text import user, answer, think

SIDE, REACH = 48, 1.3                               # atlas cells per side; it covers -REACH..REACH
SHAPES = ["circle", "square", "triangle", "star", "cross", "diamond", "ring"]
RGB = {"red": (215, 35, 35), "green": (40, 160, 60), "blue": (40, 80, 215), "yellow": (240, 215, 40), "orange": (245, 135, 25),
       "purple": (130, 45, 165), "pink": (250, 130, 185), "black": (15, 15, 15), "white": (250, 250, 250), "brown": (125, 75, 35)}
CELLS = ["top left", "top", "top right", "left", "centre", "right", "bottom left", "bottom", "bottom right"]


def segment(x, y, p, q):
    """Distance from x, y to the segment p-q."""
    ex, ey, px, py = q[0] - p[0], q[1] - p[1], x - p[0], y - p[1]
    t = max(0.0, min(1.0, (px * ex + py * ey) / (ex * ex + ey * ey)))
    return math.hypot(px - t * ex, py - t * ey)


def polygon(points):
    def sdf(x, y):
        d, inside = 1e9, False
        for p, q in zip(points, points[1:] + points[:1]):
            d = min(d, segment(x, y, p, q))
            if (p[1] > y) != (q[1] > y) and x < (q[0] - p[0]) * (y - p[1]) / (q[1] - p[1]) + p[0]:
                inside = not inside
        return -d if inside else d
    return sdf


def strokes(lines, thick):
    return lambda x, y: min(segment(x, y, p, q) for line in lines for p, q in zip(line, line[1:])) - thick


def arc(cx, cy, rx, ry, a, b, n=10):
    at = lambda i: math.radians(a + (b - a) * i / n)
    return [(cx + rx * math.cos(at(i)), cy + ry * math.sin(at(i))) for i in range(n + 1)]


def star(n, r, inner):
    at = lambda i: -math.pi / 2 + math.pi * i / n
    return [((inner if i % 2 else r) * math.cos(at(i)), (inner if i % 2 else r) * math.sin(at(i))) for i in range(2 * n)]


def digit_lines():
    """Digits as strokes in a box of half width 0.5 and half height 0.85; y grows downwards. Two faces: round and seven-segment."""
    rnd = [
        [arc(0, 0, 0.5, 0.85, 0, 360, 20)],
        [[(-0.3, -0.55), (0.05, -0.85), (0.05, 0.85)]],
        [arc(0, -0.4, 0.48, 0.45, 180, 380, 10) + [(-0.5, 0.85), (0.5, 0.85)]],
        [arc(0, -0.43, 0.45, 0.42, 200, 450, 10), arc(0, 0.42, 0.5, 0.43, 270, 520, 10)],
        [[(0.25, 0.85), (0.25, -0.85), (-0.5, 0.35), (0.5, 0.35)]],
        [[(0.45, -0.85), (-0.4, -0.85), (-0.45, -0.1)] + arc(0, 0.32, 0.5, 0.52, 215, 500, 12)],
        [[(0.35, -0.85), (-0.2, -0.35)] + arc(0, 0.35, 0.5, 0.5, 200, 560, 18)],
        [[(-0.5, -0.85), (0.5, -0.85), (-0.1, 0.85)]],
        [arc(0, -0.42, 0.42, 0.43, 0, 360, 16), arc(0, 0.43, 0.5, 0.43, 0, 360, 16)],
        [arc(0, -0.35, 0.5, 0.5, 20, 380, 18) + [(0.2, 0.85)]]]
    t, m, b, l, r = -0.85, 0.0, 0.85, -0.48, 0.48
    seg = {"a": [(l, t), (r, t)], "b": [(r, t), (r, m)], "c": [(r, m), (r, b)], "d": [(l, b), (r, b)], "e": [(l, m), (l, b)],
           "f": [(l, t), (l, m)], "g": [(l, m), (r, m)]}
    seven = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg"]
    return rnd, [[seg[c] for c in s] for s in seven]


def build_atlas():
    """Lists of SIDE * SIDE distances: the seven shapes, ten round digits, ten segment digits."""
    rnd, seg = digit_lines()
    q = 0.33
    plus = [(-q, -1), (q, -1), (q, -q), (1, -q), (1, q), (q, q), (q, 1), (-q, 1), (-q, q), (-1, q), (-1, -q), (-q, -q)]
    fs = [lambda x, y: math.hypot(x, y) - 1, polygon([(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
          polygon([(0, -1), (0.95, 0.75), (-0.95, 0.75)]), polygon(star(5, 1.08, 0.45)), polygon(plus),
          polygon([(0, -1.1), (0.8, 0), (0, 1.1), (-0.8, 0)]), lambda x, y: abs(math.hypot(x, y) - 0.76) - 0.24]
    fs += [strokes(r, 0.13) for r in rnd] + [strokes(s, 0.12) for s in seg]
    c = [(i + 0.5) / SIDE * 2 * REACH - REACH for i in range(SIDE)]
    return [[f(x, y) for y in c for x in c] for f in fs]


def sample(table, u, v):
    """Bilinear reading of an atlas table at shape coordinates u, v; far outside counts as outside."""
    x, y = (u + REACH) / (2 * REACH) * SIDE - 0.5, (v + REACH) / (2 * REACH) * SIDE - 0.5
    if not (0 <= x < SIDE - 1 and 0 <= y < SIDE - 1):
        return 1.0
    i, j = int(x), int(y)
    f, g = x - i, y - j
    k = j * SIDE + i
    return (table[k] * (1 - f) + table[k + 1] * f) * (1 - g) + (table[k + SIDE] * (1 - f) + table[k + SIDE + 1] * f) * g


def draw(scene, atlas, seed=0):
    """RGB bytes, row by row."""
    w, h = scene["w"], scene["h"]
    px = [list(scene["back"]) for _ in range(w * h)]
    for it in scene["items"]:
        c, s, r = math.cos(it["turn"]), math.sin(it["turn"]), it["size"] * REACH * 1.42
        for y in range(max(0, int(it["y"] - r)), min(h, int(it["y"] + r) + 2)):
            for x in range(max(0, int(it["x"] - r)), min(w, int(it["x"] + r) + 2)):
                dx, dy = x + 0.5 - it["x"], y + 0.5 - it["y"]
                d = sample(atlas[it["kind"]], (dx * c + dy * s) / it["size"], (dy * c - dx * s) / it["size"]) * it["size"]
                a = max(0.0, min(1.0, 0.5 - d / scene["soft"]))
                if a > 0:
                    p = px[y * w + x]
                    for k in range(3):
                        p[k] += (it["rgb"][k] - p[k]) * a
    rng, n = random.Random(seed), scene["noise"]
    return bytes(max(0, min(255, int(v + (rng.uniform(-n, n) if n else 0) + 0.5))) for p in px for v in p)


def png(w, h, rgb):
    chunk = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
    raw = b"".join(b"\0" + rgb[y * w * 3:(y + 1) * w * 3] for y in range(h))
    head = struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


# ---- scenes ---------------------------------------------------------------------------------------------------------

def background(rng):
    k = rng.random()
    b = rng.randint(225, 255) if k < 0.55 else rng.randint(0, 45) if k < 0.75 else rng.randint(95, 205)
    return tuple(max(0, min(255, b + rng.randint(-10, 10))) for _ in range(3))


def tint(rng, rgb):
    return tuple(max(0, min(255, v + rng.randint(-14, 14))) for v in rgb)


def usable(back):
    return [c for c, v in RGB.items() if sum(abs(x - y) for x, y in zip(v, back)) > 130]


def blank(rng):
    big = rng.random() < 0.05
    side = lambda: 28 * (rng.randint(8, 15) if big else rng.randint(4, 8))
    w, h = side(), side()
    return {"w": w, "h": h, "back": background(rng), "soft": rng.uniform(0.8, 2.0), "noise": rng.choice((0, 0, 0, 2, 5)), "items": []}


def put(rng, sc, shape, colour, spot, size, cell):
    sc["items"].append({"kind": SHAPES.index(shape), "x": spot[0], "y": spot[1], "size": size, "turn": rng.uniform(-0.2, 0.2),
                        "rgb": tint(rng, RGB[colour]), "shape": shape, "colour": colour, "cell": cell})


def shape_scene(rng):
    sc = blank(rng)
    cols, n = usable(sc["back"]), rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 7))
    w, h = sc["w"], sc["h"]
    if n == 1 and rng.random() < 0.5:
        spot = (w * rng.uniform(0.45, 0.55), h * rng.uniform(0.45, 0.55))
        put(rng, sc, rng.choice(SHAPES), rng.choice(cols), spot, min(w, h) * rng.uniform(0.18, 0.42), 4)
        return sc
    same = rng.random() < 0.3
    shape0, col0 = rng.choice(SHAPES), rng.choice(cols)
    few_shapes, few_cols = (rng.sample(SHAPES, 3), rng.sample(cols, 3)) if n > 3 else (SHAPES, cols)
    for cell in sorted(rng.sample(range(9), n)):
        spot = ((cell % 3 + rng.uniform(0.42, 0.58)) * w / 3, (cell // 3 + rng.uniform(0.42, 0.58)) * h / 3)
        put(rng, sc, shape0 if same else rng.choice(few_shapes), col0 if same and rng.random() < 0.8 else rng.choice(few_cols), spot,
            min(w, h) / 3 * rng.uniform(0.27, 0.4), cell)
    return sc


def digit_scene(rng):
    sc = blank(rng)
    n = rng.choice((1, 1, 2, 2, 3, 3, 4))
    text = "".join(rng.choice("0123456789") for _ in range(n))
    if n > 1 and text[0] == "0":
        text = rng.choice("123456789") + text[1:]
    size = min(sc["h"] * 0.42, sc["w"] * 0.72 / n) * rng.uniform(0.62, 1.0)
    step, y = size * 1.32, sc["h"] / 2 + rng.uniform(-0.3, 0.3) * (sc["h"] - 2 * size)
    x0 = sc["w"] / 2 - step * (n - 1) / 2 + rng.uniform(-0.3, 0.3) * max(0.0, sc["w"] - step * n)
    sc["digits"], sc["ink"] = text, rng.choice(usable(sc["back"]))
    face, turn, rgb = rng.choice((7, 7, 17)), rng.uniform(-0.1, 0.1), tint(rng, RGB[sc["ink"]])
    for i, ch in enumerate(text):
        sc["items"].append({"kind": face + int(ch), "x": x0 + i * step, "y": y, "size": size, "turn": turn, "rgb": rgb})
    return sc


# ---- questions ------------------------------------------------------------------------------------------------------

def named(it):
    return "%s %s" % (it["colour"], it["shape"])


def an(s):
    return ("an " if s[0] in "aeiou" else "a ") + s


def place(cell):
    return {3: "on the left", 4: "in the centre", 5: "on the right"}.get(cell) or "at the " + CELLS[cell]


def listing(sc):
    return join(["%s %s" % (an(named(i)), place(i["cell"])) for i in sc["items"]])


def many(shape):
    return "crosses" if shape == "cross" else plural(shape)


def there(n, colour, shape):
    thing = (colour + " " if colour else "") + (shape if n == 1 else many(shape))
    return "There %s %s %s." % ("is" if n == 1 else "are", NUMBER_WORDS[n], thing)


def count_question(rng, its, it):
    j = rng.randrange(4)
    if j < 2:
        return "count", rng.choice(("How many shapes are there?", "How many shapes do you see?", "Count the shapes.")), there(len(its), "", "shape")
    if j == 2:
        return "count", "How many %s are there?" % many(it["shape"]), there(sum(i["shape"] == it["shape"] for i in its), "", it["shape"])
    return "count", "How many %s shapes are there?" % it["colour"], there(sum(i["colour"] == it["colour"] for i in its), it["colour"], "shape")


def at_question(rng, it):
    p = place(it["cell"])
    return "position", rng.choice(("What is %s?", "What do you see %s?", "Which shape is %s?")) % p, "%s is %s." % (an(named(it)).capitalize(), p)


def questions(rng, sc):
    """(skill, question, answer) about a scene of shapes."""
    its = sc["items"]
    it = rng.choice(its)
    alone = lambda key: sum(i[key] == it[key] for i in its) == 1
    k = rng.choice(("colour", "shape", "count", "count", "where", "at", "describe", "is"))
    if k == "colour" and alone("shape"):
        q = rng.choice(("What colour is the %s?", "Which colour does the %s have?", "Tell me the colour of the %s.")) % it["shape"]
        return "colour", q, "The %s is %s." % (it["shape"], it["colour"])
    if k == "shape" and len(its) == 1:
        return "shape", rng.choice(("What shape is it?", "Which shape do you see?", "What shape is this?")), "It is %s." % an(it["shape"])
    if k == "shape" and alone("colour"):
        return "shape", rng.choice(("What shape is %s?", "Which shape is %s?")) % it["colour"], "The %s is %s." % (it["shape"], it["colour"])
    if k == "where" and sum(named(i) == named(it) for i in its) == 1:
        q = rng.choice(("Where is the %s?", "Where do you see the %s?", "Where in the picture is the %s?")) % named(it)
        return "position", q, "The %s is %s." % (named(it), place(it["cell"]))
    if k in ("count", "where"):
        return count_question(rng, its, it)
    if k == "is":
        c, s = (it["colour"], it["shape"]) if rng.random() < 0.5 else (rng.choice(list(RGB)), rng.choice(SHAPES))
        yes = any(i["colour"] == c and i["shape"] == s for i in its)
        return "shape", "Is there %s?" % an("%s %s" % (c, s)), ("Yes, there is %s." if yes else "No, there is not %s.") % an("%s %s" % (c, s))
    if k == "describe":
        q = rng.choice(("What do you see?", "Describe the picture.", "What is in the picture?", "Describe this image."))
        return "describe", q, "I see %s." % listing(sc)
    return at_question(rng, it)


def digit_question(rng, sc):
    if rng.random() < 0.2:
        return "digits", "What colour is the number?", "The number is %s." % sc["ink"]
    q = rng.choice(("What number is this?", "Which number do you see?", "Read the number.", "What digits are in the picture?", "What is written here?"))
    return "digits", q, "The number is %s." % sc["digits"]


def picture_talk(rng, effort, turns):
    """Messages about one picture, with the skill of each question."""
    if rng.random() < 0.26:
        sc = digit_scene(rng)
        ask, thought = digit_question, "I read %s." % " ".join(sc["digits"])
    else:
        sc = shape_scene(rng)
        ask, thought = questions, "I see %s." % listing(sc) if len(sc["items"]) > 1 else None
    out, skills, seen = [], [], set()
    for i in range(turns):
        skill, q, r = ask(rng, sc)
        if q in seen:
            continue
        seen.add(q)
        body = q
        if i == 0:
            body = [("image", sc), rng.choice(("", "\n")) + q] if rng.random() < 0.75 else [q + rng.choice(("", "\n", " ")), ("image", sc)]
        t = thought if i == 0 and skill != "describe" else None
        out += [user(body), answer(r, think(effort, None, t))]
        skills.append(skill)
    return out, skills
