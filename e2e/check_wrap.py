"""Reads spec/wrap.json and spec/wrap-2.json: makes the names, and wraps every directory that is not refused by the rule of
its file, as spec/facet.md says. What is refused for reasons of facets in general, such as paths, is for the readers of facets."""
import base64, hashlib, json, pathlib, re, sys

SPEC = pathlib.Path(__file__).parent.parent / "spec"
LEFT_OUT = {".git", ".hg", ".svn", ".jj", ".DS_Store", "Thumbs.db", "desktop.ini", "__pycache__"}
units = lambda path: path.encode("utf-16-be")
sha256 = lambda data: "sha256:" + hashlib.sha256(data).hexdigest()

class Refused(Exception):
    pass

def header(path, size):
    fields = [(0, path.encode()), (100, b"0000644"), (108, b"0000000"), (116, b"0000000"), (124, b"%011o" % size),
              (136, b"0" * 11), (148, b" " * 8), (156, b"0"), (257, b"ustar\x0000")]
    block = bytearray(512)
    for at, text in fields:
        block[at:at + len(text)] = text
    block[148:156] = (b"%o" % sum(block)).ljust(8, b"\0")
    return bytes(block)

def canonical(files):
    out = b"".join(header(p, len(files[p])) + files[p] + bytes(-len(files[p]) % 512) for p in sorted(files, key=units))
    return out + bytes(-len(out) % 10240)

def made_of(text):
    data = text.encode() if isinstance(text, str) else text
    name = re.sub(rb"[^a-z0-9]+", b"-", re.sub(rb"[A-Z]", lambda m: m[0].lower(), data)).strip(b"-").decode()
    return name if len(name) <= 64 else ""

def version_of(text):
    match = re.fullmatch(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)", text)
    return text if match and max(map(int, match.groups())) < 2 ** 53 else "0.0.0"

def quoted(text):
    return len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]

def joined(lines):
    if re.fullmatch(r"[|>][-+0-9]*", lines[0]):
        lines = lines[1:]
    text = " ".join(lines).strip(" ")
    if not quoted(text):
        text = text.split(" #")[0].rstrip(" \t")
    return text[1:-1] if quoted(text) else text

MEMBER = re.compile(r"""(?:([A-Za-z0-9_][A-Za-z0-9_. /-]*?)|"([A-Za-z0-9_. /-]+)"|'([A-Za-z0-9_. /-]+)')[ \t]*:(?:[ \t](.*))?""")

def front_matter(data):
    """The members, the version among those of metadata, and the first line of the text; bytes stand for characters."""
    data = data[:65536]
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    lines = [line[:-1] if line.endswith("\r") else line for line in data.decode("latin-1").split("\n")]
    fences = [i for i, line in enumerate(lines) if line.rstrip(" \t") == "---"]
    members, text = {}, lines
    if fences[:1] == [0]:
        if len(fences) == 1:
            return {}, "", ""
        text, name = lines[fences[1] + 1:], None
        for line in lines[1:fences[1]]:
            match = MEMBER.fullmatch(line)
            if not line.strip(" \t") or line.strip(" \t")[0] == "#":
                continue
            if line[0] in " \t" or line.startswith("- ") or line.strip(" \t") == "-":
                if name is not None:
                    members[name].append(line.strip(" \t"))
            elif match and (match[1] or match[2] or match[3]) not in members:
                name = match[1] or match[2] or match[3]
                members[name] = [(match[4] or "").strip(" \t")]
            else:
                name = None
    inner = [m for m in map(MEMBER.fullmatch, members.get("metadata", [])[1:]) if m and (m[1] or m[2] or m[3]) == "version"]
    first = next((t for t in (line.lstrip("# \t").rstrip(" \t") for line in text) if t), "")
    return ({n: joined(m) for n, m in members.items()}, joined([(inner[0][4] or "").strip(" \t")]) if inner else "", first)

def description(head, name):
    for text in (head[0].get("description", ""), head[2]):
        try:
            text = text.encode("latin-1").decode()
        except UnicodeDecodeError:
            continue
        if text:
            return text[:1024]
    return name

def resolve(files, links, strict):
    """The files with the links to files, and what is unsound among the links; of these any is refused if strict."""
    files = {p: data for p, data in files.items() if not LEFT_OUT & set(p.split("/"))}
    dirs = {"/".join(p.split("/")[:i]) for p in files for i in range(len(p.split("/")))} | {""}
    out, unsound = dict(files), []
    for at, text in links.items():
        if LEFT_OUT & set(at.split("/")):
            continue
        to = leads(at, text)
        if to in files:
            out[at] = files[to]
        elif to not in dirs:
            unsound.append(at)
    if strict and unsound:
        raise Refused(unsound)
    return out, unsound

def leads(at, text):
    if text == "" or text[0] == "/" or "\\" in text or "\0" in text:
        return None
    to = at.split("/")[:-1]
    for segment in text.split("/"):
        if segment == "..":
            if not to:
                return None
            to.pop()
        elif segment not in ("", "."):
            to.append(segment)
    return "/".join(to)

def document(data):
    def once(pairs):
        if len({k for k, _ in pairs}) < len(pairs):
            raise Refused("twice")
        return dict(pairs)
    def none(name):
        raise Refused(name)
    try:
        doc = json.loads(data.decode(), object_pairs_hook=once, parse_constant=none)
        json.dumps(doc, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Refused("no JSON")
    if not isinstance(doc, dict):
        raise Refused("no object")
    return doc

def clean(path):
    return path != "" and all(s not in ("", ".", "..") for s in path.split("/"))

def paths_of(doc, member, rule):
    named = doc.get(member)
    if named is None:
        return [member]
    paths = []
    for one in named if isinstance(named, list) else [named]:
        if isinstance(one, str):
            root = rule == 2 and member == "skills" and one in (".", "./", "./.", "././")
            one = "." if root else one.removeprefix("./").removesuffix("/")
            if (root or clean(one)) and one not in paths:
                paths.append(one)
    return paths

# Of each manifest: whether its skills are added to those of the directory, the files of servers that it need not name, the
# directories of which one must be there, and what is kept.
FORMATS = {".claude-plugin/plugin.json": (True, [".mcp.json"], [], [
               "bin/", "hooks/", "monitors/", "output-styles/", "settings.json", "themes/", "workflows/", ".lsp.json"]),
           ".codex-plugin/plugin.json": (True, [".mcp.json"], [], ["commands/", "hooks/", ".app.json"]),
           ".cursor-plugin/plugin.json": (False, ["mcp.json"], [], ["hooks/", "rules/"]),
           ".github/plugin/plugin.json": (False, [".mcp.json"], [], ["hooks/", "hooks.json", "lsp.json"]),
           "gemini-extension.json": (False, [], [], ["commands/", "hooks/", "policies/", "GEMINI.md"]),
           "plugin.json": (False, ["mcp.json", ".mcp.json"], ["skills/", "agents/", "commands/"],
                           ["hooks/", "hooks.json", "lsp.json"])}

def manifest_of(regular, rule):
    for file, (_, _, beside, _) in FORMATS.items():
        there = not beside or any(p.startswith(d) for p in regular for d in beside)
        if file in regular and there and (rule == 2 or file == ".claude-plugin/plugin.json"):
            return file

URL = re.compile(r"(?i:https?)://([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?]([!$&-;=?-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})*)?")

def declared(server, rule):
    if not isinstance(server, dict) or "${" in json.dumps(server):
        return None
    texts = lambda values: all(isinstance(v, str) and "\0" not in v for v in values)
    kind = server.get("type", "stdio" if "command" in server else "http" if rule == 2 and "url" in server else None)
    rest = {k: v for k, v in server.items() if k != "type"}
    if kind == "stdio" and set(rest) <= {"command", "args", "env"} and rest.get("command"):
        env, args = rest.get("env", {}), rest.get("args", [])
        good = isinstance(args, list) and isinstance(env, dict) and texts([rest["command"], *args, *env.values()])
        if good and all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for name in env):
            return {"type": kind, **rest}
    if kind == "http" and set(rest) == {"url"} and isinstance(rest["url"], str) and URL.fullmatch(rest["url"]):
        return {"type": kind, **rest}

def servers_of(doc, files, file, rule):
    usual = FORMATS[file][1]
    sources = [files[p] for p in usual if p in files]
    named = doc.get("mcpServers")
    for one in named if isinstance(named, list) else [named]:
        if isinstance(one, dict):
            sources.append(one)
        elif isinstance(one, str) and clean(one.removeprefix("./")) and one.removeprefix("./") not in usual:
            sources += [files[p] for p in [one.removeprefix("./")] if p in files]
    out = {}
    for source in sources:
        if isinstance(source, bytes):
            try:
                source = document(source)
            except Refused:
                continue
            source = source.get("mcpServers", source)
        for written in sorted(source, key=str.encode) if isinstance(source, dict) else []:
            server, name = declared(source[written], rule), made_of(written)
            if server and name and name not in out:
                out[name] = server
    return out

def skill_paths(doc, files, file, rule):
    paths = paths_of(doc, "skills", rule)
    if rule == 1:
        return paths
    if doc.get("skills") is None and "skills" not in doc and not any(p.startswith("skills/") for p in files):
        return ["."]
    return ["skills"] + paths if "skills" in doc and FORMATS[file][0] and "skills" not in paths else paths

def once(at, name, known, rule):
    """Whether a path is to be taken under a name; by rule 1 it is else refused."""
    if name and known.setdefault(name, at) == at:
        return True
    if rule == 1:
        raise Refused(at)
    return False

def named(doc):
    return doc["name"] if isinstance(doc.get("name"), str) else ""

def plugin(files, unsound, file, given, facet, members, rule):
    doc = document(files[file])
    text = lambda value: value[:1024] if isinstance(value, str) else ""
    author = doc.get("author")
    facet |= {"version": version_of(doc["version"]) if isinstance(doc.get("version"), str) else "0.0.0",
              "description": text(doc.get("description")), "author": text(author.get("name") if isinstance(author, dict) else author)}
    taken, skills, at, folders = set(), {}, {}, []
    for path in skill_paths(doc, files, file, rule):
        prefix = "" if path == "." else path + "/"
        found = [path] if prefix + "SKILL.md" in files else sorted(
            p[:-9] for p in files if p.startswith(prefix) and p.endswith("/SKILL.md") and p[len(prefix):].count("/") == 1)
        folders += [folder for folder in found if folder not in folders]
    for folder in folders:
        name = made_of(folder.split("/")[-1])
        if folder == ".":
            own = front_matter(files["SKILL.md"])[0].get("name", "").encode("latin-1")
            name = made_of(own) or (given or made_of(named(doc))).split("/")[-1]
        if not once(folder, name, at, rule):
            continue
        prefix = "" if folder == "." else folder + "/"
        if any(p.startswith(prefix) for p in unsound):
            raise Refused(unsound)
        others = [other + "/" for other in folders if folder == "." and other != "."]
        skills[name] = skill({p: data for p, data in files.items() if not any(p.startswith(o) for o in others)},
                             prefix, name, members, taken)
    facet["skills"] = skills
    for kind in ("agents", "commands"):
        prompts, at = {}, {}
        for path in paths_of(doc, kind, rule):
            for p in sorted(files, key=str.encode):
                if not p.endswith(".md") or p != path and not p.startswith(path + "/"):
                    continue
                written = p.split("/")[-1][:-3] if p == path else p[len(path) + 1:-3]
                if rule == 2 and kind == "agents":
                    written = written.removesuffix(".agent")
                name = made_of(written)
                if not once(p, name, at, rule):
                    continue
                prompts[name] = {"description": description(front_matter(files[p]), name)}
                members[f"{kind}/{name}.md"] = files[p]
                taken.add(p)
        facet[kind] = prompts
    facet["servers"] = servers_of(doc, files, file, rule)
    others = {"plugin/" + p: data for p, data in files.items() if p == file or p not in taken and (rule == 1 or any(
        p == kept or kept[-1] == "/" and p.startswith(kept) for kept in FORMATS[file][3]))}
    members.update(others)
    facet["files"] = sorted(others, key=units)
    if not any(facet[kind] for kind in ("skills", "agents", "commands", "servers")):
        raise Refused("delivers nothing")
    return named(doc)

def skill(files, folder, name, members, taken):
    inside = {p[len(folder):]: data for p, data in files.items() if p.startswith(folder)}
    members.update({f"skills/{name}/{p}": data for p, data in inside.items()})
    taken.update(folder + p for p in inside)
    rest = sorted(inside.keys() - {"SKILL.md"}, key=units)
    value = {"description": description(front_matter(inside["SKILL.md"]), name)}
    return value | ({"files": rest} if rest else {})

def wrap(v, rule):
    content = lambda f: (base64.b64decode(f["base64"]) if "base64" in f else f.get("text", "").encode()) * f.get("repeat", 1)
    regular = {f["path"]: content(f) for f in v["files"]}
    file = None if "facet.json" in regular else manifest_of(regular, rule)
    files, unsound = resolve(regular, v.get("links", {}), rule == 1 or not file)
    facet, members = {}, {}
    if file:
        written = plugin(files, unsound, file, v.get("given"), facet, members, rule)
    elif "SKILL.md" in regular and "facet.json" not in regular:
        head = front_matter(files["SKILL.md"])
        written = head[0].get("name", "").encode("latin-1")
        facet["version"] = version_of(head[0].get("version", head[1]))
    else:
        raise Refused("no form")
    facet["name"] = v.get("given") or (made_of(written) if written else "")
    if not re.fullmatch(r"(@[a-z0-9][a-z0-9-]*[a-z0-9]/)?[a-z0-9][a-z0-9-]*[a-z0-9]", facet["name"]):
        raise Refused("name")
    if not file:
        name = facet["name"].split("/")[-1]
        facet["skills"] = {name: skill(files, "", name, members, set())}
    facet = {k: x for k, x in facet.items() if x}
    text = json.dumps(facet, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    members["facet.json"] = text.encode()
    if max(len(p.encode()) for p in members) > 100 or len({p.lower() for p in members}) < len(members):
        raise Refused("paths")
    return text, sorted(members, key=units), sha256(canonical(members))

def agrees(v, rule):
    try:
        got = wrap(v, rule)
    except Refused:
        return "error" in v
    return "error" in v and "Windows" in v["error"] or got == (v.get("manifest"), v.get("paths"), v.get("integrity"))

read = lambda name: json.loads((SPEC / name).read_text())
names, vectors = read("wrap.json")["names"], [(v, 1) for v in read("wrap.json")["wraps"]] + [(v, 2) for v in read("wrap-2.json")["wraps"]]
wrong = [n for n in names if made_of(n[0]) != n[1]] + [v for v, rule in vectors if not agrees(v, rule)]
for v in wrong:
    print("disagrees:", str(v)[:600])
if not wrong:
    print(len(names) + len(vectors), "vectors ok")
sys.exit(bool(wrong))
