"""Reads spec/archive-reading.json: what is to be read Python reads the same, and the zips that are
refused break a rule that is checked here again, from spec/archive-reading.md."""
import base64, gzip, io, json, pathlib, struct, tarfile, zipfile, zlib

EXTRA = {0x0001, 0x000A, 0x5455, 0x5855, 0x7855, 0x7875, 0x6375, 0x7075, 0xA220, 0xD935, 0xCAFE}

class Refused(Exception): pass

def need(ok, why):
    if not ok:
        raise Refused(why)

def fields(extra, name):
    out = {}
    while extra:
        need(len(extra) >= 4, "extra")
        ident, size = struct.unpack_from("<HH", extra)
        need(len(extra) >= 4 + size and ident in EXTRA and ident not in out, "extra")
        out[ident], extra = extra[4:4 + size], extra[4 + size:]
    if 0x7075 in out:
        need(out[0x7075] == struct.pack("<BL", 1, zlib.crc32(name)) + name, "second name")
    return out

def widen(extra, *numbers):
    wide, out = extra.get(1, b""), []
    for n in numbers:
        if n == 0xFFFFFFFF:
            need(len(wide) >= 8, "64 bits")
            n, wide = struct.unpack_from("<Q", wide)[0], wide[8:]
        out.append(n)
    need(not wide and (1 not in extra or 0xFFFFFFFF in numbers), "64 bits")
    return out

def read_zip(d):
    end = d.rfind(b"PK\5\6")
    need(end >= 0 and len(d) - end >= 22, "no end")
    disk, disks, here, count, size, at, note = struct.unpack_from("<4H2LH", d, end + 4)
    need(end + 22 + note == len(d) and b"PK" not in d[end + 22:] and disk == disks == 0 and here == count, "end")
    stop = end
    if d[max(0, end - 20):end - 16] == b"PK\6\7":
        zero, start, one = struct.unpack_from("<LQL", d, end - 16)
        need(start == end - 76 and d[start:start + 4] == b"PK\6\6" and one == 1 and zero == 0, "locator")
        length, _, _, a, b, here64, count64, size64, at64 = struct.unpack_from("<Q2H2L4Q", d, start + 4)
        need(length == 44 and a == b == 0 and here64 == count64, "end of 64 bits")
        need(count in (0xFFFF, count64) and size in (0xFFFFFFFF, size64) and at in (0xFFFFFFFF, at64), "ends disagree")
        need(count == 0xFFFF or 0xFFFFFFFF in (size, at), "64 bits without need")
        count, size, at, stop = count64, size64, at64, start
    need(at + size == stop, "directory")
    entries, p = [], at
    while p < stop:
        need(len(entries) < count and d[p:p + 4] == b"PK\1\2", "directory")
        made, version, flags, method, _, _, crc, packed, real, n, x, c, disk, inside, attributes, offset = struct.unpack_from("<6H3L5H2L", d, p + 4)
        name, extra = d[p + 46:p + 46 + n], d[p + 46 + n:p + 46 + n + x]
        extra = fields(extra, name)
        real, packed, offset = widen(extra, real, packed, offset)
        need(c == 0 and disk == 0 and inside <= 1 and version <= 45 and not flags & ~0x80E and method in (0, 8) and (method or packed == real), "entry")
        need(name.isascii() or flags & 0x800 and made >> 8 in (3, 19), "alphabet")
        kind, directory = attributes >> 16 & 0o170000, name.endswith(b"/")
        need(made >> 8 in (0, 3, 6, 10, 11, 14, 19) and kind in (0, 0o040000 if directory else 0o100000) and not attributes >> 16 & 0o7000, "attributes")
        need(not attributes & 0xFFFF & ~0x2AB7 and (directory or not attributes & 0x10), "attributes")
        entries.append((name, flags, method, crc, packed, real, offset, 0x7075 in extra))
        p += 46 + n + x + c
    need(p == stop and len(entries) == count, "directory")
    position, files = 0, {}
    for name, flags, method, crc, packed, real, offset, renamed in entries:
        need(offset == position and d[offset:offset + 4] == b"PK\3\4", "order")
        version, f, m, _, _, sum_, packed32, real32, n, x = struct.unpack_from("<5H3L2H", d, offset + 4)
        body = offset + 30 + n + x
        need(d[offset + 30:offset + 30 + n] == name and (f, m) == (flags, method) and version <= 45, "local header")
        extra = fields(d[offset + 30 + n:body], name)
        need((0x7075 in extra) == renamed and (real32 == 0xFFFFFFFF) == (packed32 == 0xFFFFFFFF), "local header")
        twice = extra.get(1) == struct.pack("<QQ", real32, packed32) and 0xFFFFFFFF not in (real32, packed32)
        if not (twice and (not flags & 8 or real32 == packed32 == 0)):
            real32, packed32 = widen(extra, real32, packed32)
        for local, central in ((sum_, crc), (packed32, packed), (real32, real)):
            need(local == central or flags & 8 and local == 0, "local header")
        position = body + packed
        if flags & 8:
            descriptor = struct.pack("<4sLQQ" if 1 in extra else "<4sLLL", b"PK\7\10", crc, packed, real)
            need(d[position:position + len(descriptor)] == descriptor and (method or b"PK\7\10" not in d[body:position]), "descriptor")
            position += len(descriptor)
        data = d[body:body + packed]
        if method:
            z = zlib.decompressobj(-15)
            data = z.decompress(data)
            need(z.eof and not z.unused_data, "stream")
        need(len(data) == real and zlib.crc32(data) == crc, "content")
        need(name not in files, "twice")
        files[name] = data
    need(position == at, "gap")
    need(not any(e[7] for e in entries) or not any(e[1] & 8 for e in entries), "second name in a stream")
    return {n.decode(): c.decode() for n, c in files.items() if not n.endswith(b"/")}

PATHS = {"repository", "duplicate", "alias", "file-and-directory"}  # the rules of spec/paths.md
done, wrong = 0, []
for a in json.loads((pathlib.Path(__file__).parent.parent / "spec" / "archive-reading.json").read_text())["archives"]:
    if "gzip" in a and "problem" in a:
        continue  # Python reads many of them, each in its own way
    done += 1
    try:
        if "zip" in a:
            data = base64.b64decode(a["zip"])
            got = read_zip(data)
            with zipfile.ZipFile(io.BytesIO(data)) as z:
                theirs = {i.filename: z.read(i).decode() for i in z.infolist() if not i.is_dir()}
        else:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(base64.b64decode(a["gzip"])))) as t:
                # unpacked, a path has no segments that are empty or a dot
                got = theirs = {"/".join(s for s in m.name.split("/") if s not in ("", ".")):
                                t.extractfile(m).read().decode() for m in t if m.isfile()}
    except (Refused, zlib.error) as e:
        if "problem" not in a:
            wrong.append((a["name"], e))
        continue
    if "problem" in a and a["problem"] not in PATHS or "files" in a and not got == theirs == a["files"]:
        wrong.append((a["name"], got))
for w in wrong:
    print("disagree:", w)
if wrong:
    raise SystemExit(1)
print(done, "vectors ok")
