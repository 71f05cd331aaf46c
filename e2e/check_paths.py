"""Reads spec/paths.json and judges every path with rules written again from spec/paths.md."""
import json, pathlib, unicodedata as u

HIDDEN = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x2800, 0x3164, 0xFFA0} | set(range(0x180B, 0x1810)) | set(range(0xFE00, 0xFE10)) | set(range(0xFFF0, 0xFFF9)) | set(range(0xE0000, 0xE1000)) | set(range(0xFDD0, 0xFDF0))

def unseen(c):
    return c != " " and (u.category(c) in ("Cf", "Zl", "Zp", "Zs") or ord(c) in HIDDEN or ord(c) & 0xFFFE == 0xFFFE)

def simple(method, c):
    out = getattr(c, method)()
    if method == "lower" and c == "\u0130":
        return "i"
    return out if len(out) == 1 else c

ORBIT = {}
for n in range(0x110000):
    c = chr(n)
    if not 0xD800 <= n < 0xE000:
        key = c.casefold()
        ORBIT.setdefault(key if len(key) == 1 else simple("lower", c), []).append(c)

def replace(c):
    c = simple("lower", simple("upper", c))
    key = c.casefold()
    return simple("lower", min(ORBIT[key if len(key) == 1 else simple("lower", c)]))

def fold(path):
    if path.isascii():
        return path.lower()
    path = "".join(map(replace, u.normalize("NFC", path)))
    path = u.normalize("NFD", path).casefold().replace("i\u0307", "i")
    return u.normalize("NFC", "".join(map(replace, path)))

def skeleton(segment):
    def drop(s): return "".join(c for c in s if not unseen(c) and u.category(c) != "Mn")
    return fold(drop(u.normalize("NFKD", fold(drop(segment)))))

def stem(part):
    return part.split(":")[0].rstrip(". ")

def part_names_repository(part):
    s = stem(part)
    name, tilde, number = s.partition("~")
    return s in (".git", ".hg", ".jj", ".bzr") or bool(tilde) and name in ("git", "hg", "jj", "bzr") and number.isascii() and number.isdigit()

def repository(segment):
    return any(map(part_names_repository, skeleton(segment).replace("/", "\\").split("\\")))

def device(segment):
    stem = segment.split(".")[0].rstrip(" ").lower()
    return stem in ("con", "prn", "aux", "nul", "conin$", "conout$") or stem[:3] in ("com", "lpt") and len(stem) == 4 and stem[3] in "0123456789\u00b9\u00b2\u00b3"

def judge(path, installed=False):
    parts = path.split("/")
    for problem, bad in (
        ("control-character", any(u.category(c) == "Cc" for c in path)),
        ("absolute-path", path.startswith("/")),
        ("drive-path", path[1:2] == ":" and path[0].isascii() and path[0].isalpha()),
        ("repository", any(map(repository, parts))),
        ("backslash", "\\" in path),
        ("reserved-character", not installed and any(c in '<>:"|?*' for c in path)),
        ("invisible", any(map(unseen, path))),
        ("long-path", len(path.encode()) > 1024 or len(parts) > 65),
    ):
        if bad:
            return problem
    for s in parts:
        for problem, bad in (("parent-path", s == ".."), ("unclean-path", s in ("", ".")), ("trailing-dot", not installed and s[-1:] in (".", " ")), ("device-name", not installed and device(s))):
            if bad:
                return problem

def judge_set(paths):
    seen, holds = {}, {}
    for path in paths:
        if judge(path):
            return judge(path)
        parts, folded = path.split("/"), fold(path).split("/")
        for n in range(1, len(parts) + 1):
            spelling, key, isdir = "/".join(parts[:n]), "/".join(folded[:n]), n < len(parts)
            old = seen.setdefault(key, (spelling, isdir))
            if old[0] != spelling:
                return "alias"
            if old[1] != isdir:
                return "file-and-directory"
            if not isdir and key in holds.setdefault("files", set()):
                return "duplicate"
            if not isdir:
                holds["files"].add(key)
        for directory in ["/".join(folded[:n]) for n in range(len(folded))]:
            at = directory + "/" if directory else ""
            below = [(stem(stem(skeleton(key[len(at):])).split("\\")[0]), isdir) for key, (_, isdir) in seen.items() if key.startswith(at) and "/" not in key[len(at):]]
            def file(name): return (name, False) in below
            def sub(name): return (name, True) in below
            if file("head") and (file("commondir") or sub("objects") and sub("refs")):
                return "repository"

vectors = json.loads((pathlib.Path(__file__).parent.parent / "spec" / "paths.json").read_text())
wrong = [v for v in vectors["refused"] if judge(v["path"]) != v["problem"]]
wrong += [p for p in vectors["accepted"] if judge(p)]
wrong += [v for v in vectors["installed"] if (judge(v["path"], True) is None) != v["accepted"]]
for v in vectors["sets"]:
    for paths in (v["paths"], v["paths"][::-1]):
        if judge_set(paths[:-1]) or judge_set(paths) != v.get("problem"):
            wrong.append((paths, judge_set(paths), v))
for w in wrong:
    print("disagree:", ascii(w))
if wrong:
    raise SystemExit(1)
print(sum(map(len, vectors.values())), "vectors ok")
