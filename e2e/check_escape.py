#!/usr/bin/env python3
"""Escapes the texts of spec/surface.json as spec/surface.md says, with no code of Hallmark's."""
import base64, json, pathlib, re
HIDDEN = """0–1F 7F–9F AD 34F 600–605 61C 6DD 70F 890 891 8E2 115F 1160 17B4 17B5 180B–180F 200B–200F 2028–202E 2060–206F 3164 FE00–FE0F FEFF
FFA0 FFF0–FFFB 110BD 110CD 13430–1343F 1BCA0–1BCA3 1D173–1D17A E0000–E0FFF E000–F8FF F0000–FFFFD 100000–10FFFD FDD0–FDEF A0 1680 2000–200A 202F 205F"""
RANGES = [[int(x, 16) for x in r.split("–")] for r in HIDDEN.split()]
def escaped(c):  # c is a character; one from U+DC80 to U+DCFF stands for a byte that is not UTF-8
    n = ord(c)
    if c in "\n\r\t": return repr(c)[1:-1]
    if 0xDC80 <= n <= 0xDCFF: return "\\x%02x" % (n - 0xDC00)
    if n & 0xFFFE == 0xFFFE or any(r[0] <= n <= r[-1] for r in RANGES): return ("\\x%02x" if n < 0x80 else "\\u{%x}") % n
def escape(raw):
    text = raw.decode(errors="surrogateescape")
    double = lambda after: "\\\\" if after and (after in "nrtxu\\" or escaped(after)) else "\\"
    return "".join(double(after) if c == "\\" else escaped(c) or c for c, after in zip(text, [*text[1:], ""]))
if __name__ == "__main__":
    vectors = json.loads((pathlib.Path(__file__).parent.parent / "spec/surface.json").read_text())["escape"]
    raw = [base64.b64decode(v["base64"]) if "base64" in v else v["text"].encode() for v in vectors]
    wrong = [ascii((r, escape(r), v["escaped"])) for r, v in zip(raw, vectors) if escape(r) != v["escaped"]]
    print(*wrong, sep="\n") if wrong else print(len(vectors), "vectors ok")
    raise SystemExit(bool(wrong))
