# SPDX-License-Identifier: Apache-2.0
"""Our renderer against the released template (jinja2), and, where the tokenizers library is there, our encoder against it.

    python3 check_template.py TEMPLATE TOKENIZER_DIR [COUNT]
"""
import json
import random
import sys
import jinja2
import bpe
from chat_format import official, plain
from curriculum import document


def environment():
    env = jinja2.Environment(extensions=["jinja2.ext.loopcontrols"])
    env.filters["tojson"] = lambda x: json.dumps(x, ensure_ascii=False)
    def fail(msg):
        raise ValueError(msg)
    env.globals["raise_exception"] = fail
    return env


def main():
    template, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 500
    t = environment().from_string(open(template, encoding="utf-8").read())
    enc, rng = bpe.load(folder), random.Random(77)
    try:
        import tokenizers
        lib = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
    except ImportError:
        lib = None
    for i in range(count):
        conv = document(rng, longest=900)
        msgs, tools, var = official(conv)
        want = t.render(messages=msgs, tools=tools, bos_token="<|begin_of_text|>", add_generation_prompt=False, **var)
        got = plain(conv)
        if got != want:
            k = next((j for j, (x, y) in enumerate(zip(got, want)) if x != y), min(len(got), len(want)))
            raise SystemExit("template differs at %d\n%r\n%r" % (k, got[k - 60:k + 60], want[k - 60:k + 60]))
        if lib:
            a = [i for run in bpe.re.split(r"(<\|[a-z0-9_]+\|>)", got) if run
                 for i in ([bpe.SPECIAL_ID[run]] if run in bpe.SPECIAL_ID else enc.encode(run))]
            b = lib.encode(got, add_special_tokens=False).ids
            assert a == b, "tokenizer differs"
    print("%d conversations rendered alike%s" % (count, ", encoded alike" if lib else ""))


if __name__ == "__main__":
    main()
