# SPDX-License-Identifier: Apache-2.0
"""exposition.py: a strict reader of Prometheus' text form (version 0.0.4)."""
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
TYPES = ("counter", "gauge", "histogram")


def read_labels(text):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found and found[1] not in labels, text
        labels[found[1]] = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), found[2])
        at = found.end()
        assert (found[3] == ",") == (at < len(text)), text
    return labels


def read_value(text):
    assert re.fullmatch(r"\+Inf|-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?", text), text
    return float(text.replace("+Inf", "inf"))


def check_histogram(name, samples):
    series = {}
    for sample, labels, value in samples:
        rest = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        assert ("le" in labels) == (sample == name + "_bucket"), sample
        part = series.setdefault(rest, {"buckets": []})
        if "le" in labels:
            part["buckets"].append((read_value(labels["le"]), value))
        else:
            assert sample not in part
            part[sample] = value
    for part in series.values():
        bounds = [bound for bound, _ in part["buckets"]]
        counts = [count for _, count in part["buckets"]]
        assert len(bounds) > 2 and bounds[-1] == math.inf and bounds == sorted(set(bounds)), name
        assert counts == sorted(counts) and all(c == int(c) >= 0 for c in counts), (name, counts)
        assert counts[-1] == part[name + "_count"], name
        assert part[name + "_sum"] >= 0 and (part[name + "_count"] or part[name + "_sum"] == 0)


def read(text):
    """{name: (type, [(sample's name, labels, value)])}; every rule of the form is asserted."""
    assert text.endswith("\n") and "\r" not in text and "\n\n" not in text
    families, name = {}, None
    lines = text.split("\n")[:-1]
    for i, line in enumerate(lines):
        if line.startswith("# HELP "):
            name, words = line[7:].split(" ", 1)
            assert re.fullmatch(NAME, name) and words.strip() and name not in families, line
            assert lines[i + 1].startswith(f"# TYPE {name} "), line
        elif line.startswith("# TYPE "):
            assert lines[i - 1].startswith(f"# HELP {name} "), line
            kind = line.removeprefix(f"# TYPE {name} ")
            assert kind in TYPES, line
            families[name] = (kind, [])
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            kind, samples = families[name]
            ends = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            assert found[1] in [name + end for end in ends], line
            samples.append((found[1], read_labels(found[2] or ""), read_value(found[3])))
    seen = set()
    for name, (kind, samples) in families.items():
        assert samples, name
        for sample, labels, value in samples:
            key = (sample, tuple(sorted(labels.items())))
            assert key not in seen, key
            seen.add(key)
            assert kind != "counter" or (value >= 0 and name.endswith("_total")), name
        if kind == "histogram":
            check_histogram(name, samples)
    return families
