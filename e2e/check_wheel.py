"""Reads spec/wheel.json: each wheel is read as spec/wheel.md says, with nothing of Hallmark."""
import base64, configparser, csv, hashlib, io, json, pathlib, re, unicodedata

class Refused(Exception): pass
class Differs(Exception): pass

def need(ok, why):
    if not ok:
        raise Refused(why)

def fold(s):
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", s).casefold())

def name_of(s): return re.sub("[-_.]+", "-", s).lower()

def version_of(s):  # enough of PEP 440 for the release of the vectors
    return re.sub(r"(\.0)+$", "", re.sub(r"^v", "", s.lower()))

def ends(name, ending): return fold(name).rstrip(". ").endswith(ending)

def records(text):
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    for line in re.split("\r?\n", text):  # a quote only around a whole field
        for field in re.findall(r'(?:^|,)("(?:[^"]|"")*"|[^,]*)', line):
            need('"' not in field or re.fullmatch('"(?:[^"]|"")*"', field), "quote")
    return rows

def scripts(text):
    parsed = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parsed.optionxform = str
    try:
        parsed.read_string(text)
    except configparser.Error as e:
        raise Refused(str(e))
    return [s for section in ("console_scripts", "gui_scripts") if parsed.has_section(section) for s in parsed[section]]

def read(files):
    tops = {p.split("/")[0] for p in files if not p.endswith("/")}
    infos = [t for t in tops if t.endswith(".dist-info") and t + "/METADATA" in files]
    need(len(infos) == 1, "one METADATA")
    x = infos[0][:-len(".dist-info")]
    need(x.count("-") == 1, "NAME-VERSION")
    need(name_of(x.split("-")[0]) == "hx-whl" and version_of(x.split("-")[1]) == version_of("1.0.0"), "release")
    info, data = x + ".dist-info", x + ".data"
    for top in tops:
        if ends(top, ".dist-info") or ends(top, ".data"):
            need(top == info or top == data and top not in files, "another " + top)
    entries = scripts(files[info + "/entry_points.txt"]) if info + "/entry_points.txt" in files else []
    installed = []  # path, of packages or of the prefix
    for path in files:
        if path.endswith("/"):
            continue
        if not path.startswith(data + "/"):
            installed.append((path, "packages"))
            continue
        kind, _, rest = path[len(data) + 1:].partition("/")
        need(kind in ("purelib", "platlib", "scripts", "headers", "data") and rest, "directory of .data")
        need(not any(ends(rest.split("/")[0], e) for e in (".dist-info", ".data")), "metadata in .data")
        if kind in ("purelib", "platlib"):
            installed.append((rest, "packages"))
        elif kind == "scripts":
            need("/" not in rest, "script in a directory")
            installed.append(("bin/" + rest, "prefix"))
        elif kind == "headers":
            installed.append(("include/hx-whl/" + rest, "prefix"))
        else:
            at = rest.split("/")
            low = [fold(s) for s in at]
            need("site-packages" not in low and low[0] not in ("l", "li", "lib6", "lib64"), "place of modules")
            need(not (low[0].startswith("lib") and len(low) > 1 and low[1].startswith("python")), "place of modules")
            if low[0] == "include" and len(at) > 1:  # another spelling of what headers are installed to
                if low[1].startswith("python") and len(at) > 2 and name_of(low[2]) == "hx-whl":
                    at = ["include", "hx-whl"] + at[3:]
                elif name_of(low[1]) == "hx-whl":
                    at[1] = "hx-whl"
            installed.append(("/".join(at), "prefix"))
    for s in entries:
        need(s and "/" not in s, "script")
        for ending in ("", ".exe", "-script.py", "-script.pyw", ".pya"):
            installed.append(("bin/" + s + ending, "prefix"))
    seen, sides = set(), {}
    for path, side in installed:
        path = fold(path)
        need(path not in seen, "installed twice: " + path)
        seen.add(path)
        need(sides.setdefault(path.split("/")[0], side) == side, "packages and prefix")
    for path in seen:
        at = path.split("/")
        need(not any("/".join(at[:i]) in seen for i in range(1, len(at))), "file and directory")
    check_record(files, info)

def check_record(files, info):
    need(info + "/RECORD" in files, "no RECORD")
    free = {info + "/" + n for n in ("RECORD", "RECORD.jws", "RECORD.p7s")}
    listed, differs = set(), []
    try:
        rows = records(files[info + "/RECORD"])
    except csv.Error as e:
        raise Refused(str(e))
    for row in rows:
        need(len(row) == 3, "three fields")
        path, claim, size = row
        need(path not in listed, "twice")
        listed.add(path)
        algorithm, _, value = claim.partition("=")
        if path.endswith("/"):
            empty = base64.urlsafe_b64encode(hashlib.sha256(b"").digest()).rstrip(b"=").decode()
            need(claim in ("", "sha256=" + empty) and size in ("", "0"), "directory")
            continue
        need(path in files, "line without file")
        if path in free:
            need(not claim and not size, "hash of RECORD")
            continue
        need(algorithm in ("sha256", "sha512"), "hash")
        raw = files[path].encode()
        have = base64.urlsafe_b64encode(hashlib.new(algorithm, raw).digest()).rstrip(b"=").decode()
        need(len(value) == len(have) and re.fullmatch("[A-Za-z0-9_-]+", value), "form of a hash")
        need(re.fullmatch("(0|[1-9][0-9]*)?", size), "size")
        if value != have or size and int(size) != len(raw):
            differs.append(path)
    for path in files:
        need(path.endswith("/") or path in listed or path in free, "without line: " + path)
    if differs:
        raise Differs(differs)

vectors = json.loads((pathlib.Path(__file__).parent.parent / "spec/wheel.json").read_text())["wheels"]
wrong = 0
for v in vectors:
    files = dict(zip(v["files"][::2], v["files"][1::2]))
    outcome = "ok"
    try:
        need(2 * len(files) == len(v["files"]), "a name twice")
        read(files)
    except Refused:
        outcome = "validation"
    except Differs:
        outcome = "integrity"
    if outcome != v["outcome"]:
        print(f"{v['name']}: {outcome}, and the vector says {v['outcome']}")
        wrong += 1
print(f"{len(vectors)} vectors ok" if not wrong else f"{wrong} differ")
raise SystemExit(wrong > 0)
