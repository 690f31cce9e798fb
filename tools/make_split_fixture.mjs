// SPDX-License-Identifier: Apache-2.0
// make_split_fixture.mjs — random texts cut by the model's regular expression, as JavaScript
// engines understand it (Unicode property classes, leftmost match, first alternative first).
// usage: node make_split_fixture.mjs N SEED DerivedAge.txt > tests/fixtures/split/pieces.jsonl
// DerivedAge.txt (Debian package unicode-data) is that of our tables' Unicode version: code points
// it does not list are left out, since the JavaScript engine may know a later version.
// Each line: text, and the UTF-8 offsets where its pieces end. JavaScript has no (?i:...), so the
// contractions spell their cases out (the long s folds to s), and its \s differs, so white space
// is listed.
import { readFileSync } from 'node:fs'

const space =
    '\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const tail = "(?:'[sS\\u017f]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"
const upper = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
const lower = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'
const rule = new RegExp(
    [
        `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+${tail}`,
        `[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*${tail}`,
        '\\p{N}{1,3}',
        ` ?[^${space}\\p{L}\\p{N}]+[\\r\\n/]*`,
        `[${space}]*[\\r\\n]+`,
        `[${space}]+(?![^${space}])`,
        `[${space}]+`,
    ].join('|'),
    'gu'
)

const assigned = []
for (const line of readFileSync(process.argv[4], 'utf8').split('\n')) {
    const range = /^([0-9A-F]+)(?:\.\.([0-9A-F]+))? *;/.exec(line)
    if (!range) continue
    const last = parseInt(range[2] ?? range[1], 16)
    for (let code = parseInt(range[1], 16); code <= last; code++) assigned[code] = true
}

let state = BigInt(process.argv[3] ?? 1)
function random(n) {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n)
    return Number(state >> 33n) % n
}

// Characters that meet every rule, the rare ones as often as the common ones.
const alphabets = [
    [...'aAbZ'],
    [...'aA\u0301\u02b0\u4e16\u01c5\u00e9\u00c9\u0436\u0416'],
    [...'sStTrReEvVmMlLdD\u017f\''],
    [...' \t\n\r\u00a0\u2003\u3000\u0085'],
    [...'019\u0663\u00bd\u2167'],
    [...'.,!/\'-_<|>"()\u2014\u3002\u200d\ud83d\ude42'.normalize()],
    [...'\u0bbe\u093f\u20dd\u0e31\u05b8\u1e9e\ufb01'],
]
function character() {
    if (random(30) === 0) {
        for (;;) { // anything
            const code = random(4) ? random(0x3000) : random(0x110000)
            const surrogate = code >= 0xd800 && code <= 0xdfff
            if (assigned[code] && !surrogate) return String.fromCodePoint(code)
        }
    }
    const alphabet = alphabets[random(alphabets.length)]
    return alphabet[random(alphabet.length)]
}

for (let i = 0; i < Number(process.argv[2] ?? 1000); i++) {
    let text = ''
    const n = 1 + random(random(2) ? 8 : 40)
    const narrow = random(3) === 0 ? alphabets[random(alphabets.length)] : null
    for (let j = 0; j < n; j++)
        text += narrow && random(4) ? narrow[random(narrow.length)] : character()
    const ends = []
    let at = 0
    for (const match of text.matchAll(rule)) ends.push((at += Buffer.byteLength(match[0])))
    if (at !== Buffer.byteLength(text)) throw new Error(JSON.stringify(text))
    const line = JSON.stringify({ text, ends })
    const escape = (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')
    console.log(line.replace(/[\u0080-\uffff]/g, escape))
}
