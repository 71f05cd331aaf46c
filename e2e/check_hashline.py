"""Reads spec/hashline.json and recomputes every vector from spec/hashline.md, line by line."""
import json, pathlib, re, sys, unicodedata

SPACE = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}

class Refused(Exception):
    def __init__(self, code, operations=(), candidates=()):
        self.outcome = {"code": code, **({"operations": [*operations]} if operations else {}),
                        **({"candidates": [*candidates]} if candidates else {})}

def fnv(line):
    while line and ord(line[-1]) in SPACE:
        line = line[:-1]
    h = 0xCBF29CE484222325
    for byte in line.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return "%016x" % h

def split(file):  # [(content, ending)]
    if "\0" in file:
        raise Refused("binary")
    found = re.findall(r"([^\n]*)(\n)|([^\n]+)\Z", file)
    return [(c[:-1], "\r\n") if e and c.endswith("\r") else (c or rest, e) for c, e, rest in found]

def resolve(text, lines, index, width, reach, insertion):
    m = re.fullmatch(r"(?s)(0|[1-9][0-9]{0,9}):([0-9A-Fa-f]{0,4})(\|.*)?", text.strip("".join(map(chr, SPACE))))
    if not m:
        raise Refused("invalid", [index])
    n, tag = int(m[1]), m[2].lower()
    if n == 0:
        if tag or not insertion:
            raise Refused("invalid", [index])
        if lines:
            raise Refused("anchor_not_found", [index])
        return 0, None
    if len(tag) < width:
        raise Refused("invalid", [index])
    having = [i + 1 for i, (content, _) in enumerate(lines) if fnv(content).endswith(tag)]
    if n in having:
        return n, None
    if len(having) == 1 and (reach is None or abs(having[0] - n) <= reach):
        return having[0], {"operation": index, "anchor": "%d:%s" % (n, tag), "line": having[0]}
    raise Refused("anchor_ambiguous" if len(having) > 1 else "anchor_not_found", [index], sorted(having, key=lambda i: (abs(i - n), i))[:10])

def sign(c):
    return c != "_" and unicodedata.category(c)[0] not in "LN"

def echoed(new, lines, first=0, last=0):
    texts = [content for content, _ in lines]
    strong, weak, run = False, 0, []
    for line in new:
        start = next((i for i, c in enumerate(line[:8]) if not sign(c)), min(len(line), 8))
        starts = range(start + 1)  # "[" of a header is a sign, too
        m = re.compile("([1-9][0-9]{0,9}):([0-9a-f]{2,4})\\|(.*)").match(line, start)
        run = run + [m] if m and run and int(m[1]) == int(run[-1][1]) + 1 else [m] if m else []
        known = line in texts
        if re.search("\\[[0-9]+ bytes cut\\]", line) or any(
                re.compile("\\[file_hash=(sha256:)?[0-9a-f]{12,64}[ \\]]").match(line, i) for i in starts):
            strong = strong or not known
        if not m:
            continue
        is_ = lambda text: fnv(text).endswith(m[2])
        mine, text = int(m[1]) <= len(texts) and is_(texts[int(m[1]) - 1]), is_(m[3])
        if mine or text and trimmed((m[3], "")):
            if int(m[1]) < 24 and re.fullmatch("[0-5][0-9]", m[2]) and not (
                    mine and (text or first <= int(m[1]) <= last)):
                weak += not known
            else:
                strong = strong or not known
        elif len(run) > 2 and any(set(x[2]) & set("abcdef") for x in run):
            strong = strong or not known
    return strong or weak > 1

def replace_all(lines, ops):  # ops: [(index, text, content)]; the steps
    word = lambda c: c in "_\u200c\u200d" or unicodedata.category(c)[0] in "LMN"
    def inside(line, k):
        before, after = line[k - 1:k], line[k:k + 1]
        if before == "\u200d":
            return True
        if not after or not word(after):
            return False
        return bool(before) and word(before) or unicodedata.category(after)[0] == "M" or after == "\u200d"
    steps, counts, parts = [], {i: 0 for i, _, _ in ops}, {i: [] for i, _, _ in ops}
    for n, (line, _) in enumerate(lines, 1):
        found = []
        for index, find, by in ops:
            at = 0
            while (i := line.find(find, at)) >= 0:
                if inside(line, i) or inside(line, i + len(find)):
                    parts[index].append(n)
                    at = i + 1
                else:
                    found.append((i, i + len(find), index, by))
                    at = i + len(find)
        found.sort(key=lambda x: x[0])
        new, at = "", 0
        for k, (i, end, index, by) in enumerate(found):
            if i < at:
                raise Refused("overlap", [found[k - 1][2], index])
            new, at, counts[index] = new + line[at:i] + by, end, counts[index] + 1
        if found:
            steps.append(dict(i=found[0][2], new=[new + line[at:]], first=n, last=n, insertion=False, deletion=False, place=2 * n))
    for index, _, _ in ops:
        if not counts[index]:
            raise Refused("anchor_not_found", [index], parts[index][:1])
    return steps

OPS = {op.replace("_", ""): op for op in ("replace", "replace_range", "insert_after", "insert_before", "delete", "delete_range",
                                          "append", "prepend")}

def parse(text):
    m = re.match(r"[ \t\r\n]*([^ \t\r\n]*)", text)
    op, rest = OPS.get(bare(m[1])), text[m.end():]
    if not op:
        raise Refused("invalid")
    found = {"op": op}
    m = re.match(r"[ \t\r\n]*(N(?:[ \t\r\n]*\.\.[ \t\r\n]*N)?)(?=[ \t\r\n]|\Z)".replace("N", "(?:0|[1-9][0-9]{0,9}):[0-9A-Fa-f]{0,4}"), rest)
    if m:
        found["anchor"], rest = m[1], rest[m.end():]
    elif op not in ("append", "prepend"):
        raise Refused("invalid")
    m = re.match(r"[ \t\r\n]*with(?=[ \t\r\n]|\Z)", rest)
    rest = rest[m.end():] if m else rest
    inner = rest.strip(" \t\r\n")
    if len(inner) > 1 and inner[0] in "'\"" and inner[0] == inner[-1]:
        found["content"] = inner[1:-1]
    elif inner:
        if op.startswith("replace") and not m:
            raise Refused("invalid")
        found["content"] = re.sub(r"\A([ \t\r]*\n|[ \t\r])", "", rest)
    content, quoted = found.get("content", ""), len(inner) > 1 and inner[0] in "'\"" and inner[0] == inner[-1]
    name = "(?:replace(?:[_-]?(?:range|all))?|insert[_-]?(?:after|before)|delete(?:[_-]?range)?|append|prepend)"
    letter = lambda i: 0 <= i < len(content) and unicodedata.category(content[i])[0] in "LN"
    if (re.search(r"\b" + name + r"\W{1,3}(?:0|[1-9][0-9]{0,9}):[0-9a-f]{0,4}(?:\W|\Z)", content, re.I | re.A)
            or quoted and any(c == inner[0] and not (letter(i - 1) and letter(i + 1)) for i, c in enumerate(content))
            or not quoted and re.search(r"\n[ \t]*(?:[0-9]+[.)]|[-*])?[ \t]*(?:append|prepend|replace[_-]?all)(?:\W|\Z)", content, re.I | re.A)):
        raise Refused("invalid")
    return found

def join(lines):
    return {"content": "".join(line.removesuffix("\n") + "\n" for line in lines)} if lines else {}

def bare(op):
    return "".join(c.lower() if c.isascii() else c for c in op if c not in "_-")

def standard(o, index, lines):  # with an anchor for append and prepend
    if isinstance(o, str):
        o = parse(o)
    op, anchor, end = OPS.get(bare(o["op"])), o.get("anchor", ""), o.get("end_anchor", "")
    if ".." in anchor.split("|")[0]:
        if end or not op or op not in ("replace", "replace_range", "delete", "delete_range"):
            raise Refused("invalid", [index])
        anchor, end = anchor.split("..", 1)
        if not end:
            raise Refused("invalid", [index])
    if op in ("append", "prepend"):
        n = 0 if not lines else len(lines) if op == "append" else 1
        anchor = anchor or ("%d:%s" % (n, fnv(lines[n - 1][0])[-4:]) if n else "0:")
        op = "insert_after" if op == "append" else "insert_before"
    return op, anchor, end, o.get("content")

def locate(v, lines):
    width, steps, moved, renamings = v.get("width", 2), [], [], []
    reach = 0 if v.get("exact") else v.get("reach") or None
    if not v["operations"]:
        raise Refused("invalid")
    for i, o in enumerate(v["operations"]):
        if isinstance(o, dict) and bare(o["op"]) == "replaceall":
            find, by = o.get("anchor", ""), o.get("content")
            if not find or by is None or o.get("end_anchor") or set(find + by) & set("\r\n"):
                raise Refused("invalid", [i])
            if "\0" in by:
                raise Refused("binary", [i])
            if echoed([by], lines):
                raise Refused("echoed_tags", [i])
            renamings.append((i, find, by))
            continue
        op, anchor, end, content = standard(o, i, lines)
        if not op:
            raise Refused("invalid", [i])
        insertion, deletion = op.startswith("insert_"), op.startswith("delete")
        if not anchor or op.endswith("_range") and not end or insertion and end or deletion and content or not deletion and content is None:
            raise Refused("invalid", [i])
        new = []
        if not deletion:
            if "\0" in content:
                raise Refused("binary", [i])
            new = content.removesuffix("\n").split("\n")
            new = [line.rstrip("\r") for line in new]
            ends = [re.match("\\s*([0-9]+):|", a)[1] or 0 for a in (anchor, end or anchor) if op.startswith("replace")]
            if echoed(new, lines, *map(int, ends)):
                raise Refused("echoed_tags", [i])
        found = [resolve(a, lines, i, width, reach, insertion) for a in [anchor, *([end] if end else [])]]
        moved += [m for _, m in found if m]
        first, last = found[0][0], found[-1][0]
        if last < first:
            raise Refused("overlap", [i])
        named = [int(re.match(r"\s*(\d+):", a).group(1)) for a in [anchor, end or anchor]]
        if last - first > named[1] - named[0]:
            raise Refused("anchor_not_found", [i], [first, last])
        place = 2 * first + (op == "insert_after" or first == 0) - (op == "insert_before" and first > 0)
        steps.append(dict(i=i, new=new, first=first, last=last, insertion=insertion, deletion=deletion, place=place))
    steps += replace_all(lines, renamings)
    steps.sort(key=lambda s: (s["place"], s["i"]))
    for a in steps:
        for b in steps:
            if a is b or a["insertion"]:
                continue
            if b["insertion"]:
                inside = 2 * a["first"] < b["place"] < 2 * a["last"] or a["deletion"] and a["first"] <= b["first"] <= a["last"]
            else:
                inside = a["first"] <= b["last"] and b["first"] <= a["last"]
            if inside:
                raise Refused("overlap", [s["i"] for s in sorted([a, b], key=lambda s: (s["place"], s["i"]))])
    return steps, moved

def build(lines, steps, shift=lambda n: n):
    mark = bool(lines) and lines[0][0].startswith("\ufeff")
    if mark:
        lines = [(lines[0][0][1:], lines[0][1])] + lines[1:]
    def ending(n):
        while 1 <= n <= len(lines):
            if lines[n - 1][1]:
                return lines[n - 1][1]
            n -= 1
        return "\n"
    places = {2 * n: content + end for n, (content, end) in enumerate(lines, 1)}
    for s in steps:
        first, last, new = shift(s["first"]), shift(s["last"]), list(s["new"])
        place = s["place"] + 2 * (first - s["first"])
        if s["insertion"]:
            end = ending(first)
            unended = place == 2 * len(lines) + 1 and lines and not lines[-1][1]
            places[place] = places.get(place, "") + "".join(end + c if unended else c + end for c in new)
        else:
            for n in range(first, last + 1):
                places[2 * n] = ""
            places[2 * first] = "".join(c + (lines[last - 1][1] if i == len(new) - 1 else ending(min(first + i, last))) for i, c in enumerate(new))
    kept = {2 * n for n in range(1, len(lines) + 1)} - {2 * n for s in steps if not s["insertion"] for n in range(shift(s["first"]), shift(s["last"]) + 1)}
    first = min((p for p in places if places[p] or p in kept), default=0)
    if mark and first and first not in kept:
        places[first] = places[first].removeprefix("\ufeff")
    return "\ufeff" * mark + "".join(places[p] for p in sorted(places))

def repetitions(lines, steps, result, shift=lambda n: n):
    """The stretches by the new lines that stand at each place, and by the old lines that are gone."""
    plain = lambda lines: [trimmed((c.removeprefix("\ufeff") if i == 0 else c, e)) for i, (c, e) in enumerate(lines)]
    old, new = plain(lines), plain(split(result))
    added, gone = {}, set()  # by place: the operations of the new lines there; places of old lines that are gone
    for s in steps:
        place = s["place"] + 2 * (shift(s["first"]) - s["first"])
        added[place] = added.get(place, []) + [s["i"]] * len(s["new"])
        if not s["insertion"]:
            gone |= {2 * n for n in range(shift(s["first"]), shift(s["last"]) + 1)}
    found, mine, was, first = [], [], [], 1
    for place in range(1, 2 * len(old) + 3):
        mine += added.get(place, [])
        if place % 2 or place in gone:
            was += [old[place // 2 - 1]] if place in gone else []
            if place < 2 * len(old) + 1:
                continue
        if mine:
            mine = mine[:len(new) - first + 1]
            now, before, after = new[first - 1:first - 1 + len(mine)], new[:first - 1], new[first - 1 + len(mine):]
            for behind in False, True:
                part = (lambda lines, k: lines[len(lines) - k:]) if behind else (lambda lines, k: lines[:k])
                beside = (lambda k: after[:k]) if behind else (lambda k: before[len(before) - k:])
                k = max([k for k in range(1, len(now) + 1) if part(now, k) == beside(k)], default=0)
                if k and any(beside(k)) and part(was, k) != beside(k):
                    end = first + len(now)
                    found.append({"operation": mine[-1 if behind else 0], "line": end - k if behind else first, "lines": k,
                                  "neighbour": end if behind else first - k})
        first += len(mine) + 1
        mine, was = [], []
    return {"repeated": found} if found else {}

def edit(v):
    lines = split(v["file"])
    steps, moved = locate(v, lines)
    result = build(lines, steps)
    if result == v["file"]:
        raise Refused("no_change")
    return {"result": result, **({"relocated": moved} if moved else {}), **repetitions(lines, steps, result)}

def differences(a, b):  # [(first, end, first in b, end in b)], from 0, by the table of the longest common subsequence
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            best[i][j] = best[i + 1][j + 1] + 1 if a[i] == b[j] else max(best[i + 1][j], best[i][j + 1])
    i = j = 0
    found, start = [], (0, 0)
    while i < len(a) or j < len(b):
        if i < len(a) and j < len(b) and a[i] == b[j]:
            if start != (i, j):
                found.append((start[0], i, start[1], j))
            i, j = i + 1, j + 1
            start = i, j
        elif i < len(a) and (j == len(b) or best[i + 1][j] >= best[i][j + 1]):
            i += 1
        else:
            j += 1
    return found + ([(start[0], i, start[1], j)] if start != (i, j) else [])

def find(diffs, n):  # line n of a, from 0: its line in b or None, and the difference that it is in
    for d in diffs:
        if d[0] <= n < d[1]:
            return None, d
    return n + sum(d[3] - d[2] - d[1] + d[0] for d in diffs if d[1] <= n), None

def rebase(v):
    a, b = split(v["base"]), split(v["current"])
    steps, moved = locate(v, a)
    diffs, changed = differences(a, b), set()  # places of base, as above, that are not the same
    for k, (first, end, start, stop) in enumerate(diffs):
        least, most = diffs[k - 1][1] if k else 0, diffs[k + 1][0] if k + 1 < len(diffs) else len(a)
        up = down = 0
        if first == end or start == stop:
            other, (low, high) = (b, (start, stop)) if first == end else (a, (first, end))
            while first - up > least and a[first - up - 1] == other[high - up - 1]:
                up += 1
            while end + down < most and a[end + down] == other[low + down]:
                down += 1
        changed |= set(range(2 * (first - up) + 1, 2 * (end + down) + 2))
    for s in steps:
        ends = s["place"] == 2 * len(a) + 1 and a and not a[-1][1]  # the last line gets an ending
        mine = {s["place"]} if s["insertion"] and not ends else set(range(2 * s["first"] - 1, 2 * s["last"] + 2))
        if mine & changed:
            raise Refused("stale", [s["i"]])
    shift = lambda n: n and find(diffs, n - 1)[0] + 1
    result = build(b, steps, shift)
    return {"result": result, **({"relocated": moved} if moved else {}), **repetitions(b, steps, result, shift)}

def trimmed(line):
    return re.sub("[%s]*\\Z" % "".join(map(chr, sorted(SPACE))), "", line[0])

def mapping(v):
    a, b = split(v["base"]), split(v["current"])
    width, reach, diffs, found = v.get("width", 2), 0 if v.get("exact") else v.get("reach") or None, differences(a, b), []
    bare_a, bare_b = [trimmed(x) for x in a], [trimmed(x) for x in b]
    for i, o in enumerate(v["operations"]):
        if isinstance(o, dict) and bare(o["op"]) == "replaceall":
            continue
        op, anchor, end, _ = standard(o, i, a)
        if not op:
            raise Refused("invalid", [i])
        given = isinstance(o, dict) and o.get("anchor") or isinstance(o, str) and parse(o).get("anchor")
        mine = []
        for text in [anchor, *([end] if end else [])] if given else []:
            try:
                n, moved = resolve(text, a, i, width, reach, op.startswith("insert"))
            except Refused as refused:
                if refused.outcome["code"] == "invalid":
                    raise
                n = 0
            m = dict(operation=i, anchor=text.split("|")[0].strip().lower(), read=n, line=0, new_anchor="", place=min(len(b), 1))
            mine.append(m)
            if not n:
                m["new_anchor"] = "0:" if m["anchor"] == "0:" and not b else ""
                continue
            now, d = find(diffs, n - 1)
            if d:
                inner = differences(bare_a[d[0]:d[1]], bare_b[d[2]:d[3]])
                now, e = find(inner, n - 1 - d[0])
                if e:
                    m["place"] = min(d[2] + e[2] + 1, len(b))
                    if bare_a[n - 1] and bare_a.count(bare_a[n - 1]) == bare_b.count(bare_a[n - 1]) == 1:
                        m["line"] = bare_b.index(bare_a[n - 1]) + 1
                else:
                    now += d[2]
            if now is not None:
                m["line"] = m["place"] = now + 1
            if m["line"]:
                m["new_anchor"] = "%d:%s" % (m["line"], fnv(b[m["line"] - 1][0])[-width:])
        if len(mine) == 2 and mine[1]["read"]:
            p, q = mine
            if not p["line"] or not q["line"] or a[p["read"] - 1:q["read"]] != b[p["line"] - 1:q["line"]]:
                q["altered"] = True
        found += mine
    return {"mapped": found}

def facts(file):
    lines = split(file)
    feeds, both = file.count("\n"), file.count("\r\n")
    return dict(file=file, lines=len(lines), final_newline=file.endswith("\n"),
                line_ending="none" if not feeds else "lf" if not both else "crlf" if both == feeds else "mixed",
                encoding="utf-8-bom" if file.startswith("\ufeff") else "utf-8",
                text=["%d:%s|%s" % (n, fnv(content)[-2:], content) for n, (content, _) in enumerate(lines, 1)])

def outcome(compute, v):
    try:
        return compute(v)
    except Refused as refused:
        return {"error": refused.outcome}

def fault(data):
    try:
        data.decode()
        return data.index(0)
    except UnicodeDecodeError as e:
        return e.start

v = json.loads((pathlib.Path(__file__).parent.parent / "spec" / "hashline.json").read_text())
wrong = [x for x in v["tags"] if x["hash"] != fnv(x["line"]) or x["tags"] != [x["hash"][-w:] for w in (2, 3, 4)]]
wrong += [x for x in v["files"] if x != facts(x["file"])]
wrong += [x for x in v["binary"] if x["offset"] != fault(bytes.fromhex(x["hex"]))]
wrong += [x for x in v["contents"] if x != {"lines": x["lines"], **join(x["lines"])}]
for kind, compute in ("edits", edit), ("rebases", rebase), ("maps", mapping), ("texts", lambda x: {"operation": parse(x["text"])}):
    for x in v[kind]:
        got = outcome(compute, x)
        if got != {k: x[k] for k in ("result", "relocated", "repeated", "operation", "mapped", "error") if k in x}:
            wrong.append((x, got))
for x in wrong:
    print("wrong:", x)
if wrong:
    sys.exit(1)
print(sum(len(x) for x in v.values()), "vectors ok")
