//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// forgeSeed and forgedShort are of the archives of each run; make forge has 2,000 of them, and
// HALLMARK_FORGE_SEED others.
const (
	forgeSeed   = 20261122
	forgedShort = 400
)

// readersOfNode are the packages whose programs read archives for most of what runs on Node.
var readersOfNode = []string{"yauzl@3.4.0", "tar@7.5.23"}

// contents are the digests of files by path.
type contents map[string]string

// batch unpacks each archive that the list names with the command $1, whose messages and
// status it leaves beside.
const batch = `
while read -r name; do
	mkdir "$OUT/$name"
	(cd "$OUT/$name" && FILE="$DIR/$name" sh -c "$COMMAND") >"$OUT/$name.log" 2>&1 </dev/null
	echo $? >"$OUT/$name.status"
done <"$LIST"
`

const pythonReader = `
import os, sys, tarfile, zipfile
out, here, names = os.environ["OUT"], os.environ["DIR"], open(os.environ["LIST"]).read().split()
for name in names:
    into = os.path.join(out, name)
    os.mkdir(into)
    status, said = 0, ""
    try:
        path = os.path.join(here, name)
        if name.endswith(".zip"):
            with zipfile.ZipFile(path) as z:
                z.extractall(into)
        else:
            with tarfile.open(path, errorlevel=2) as t:
                t.extractall(into)
    except Exception as e:
        status, said = 1, repr(e)
    open(into + ".log", "w").write(said)
    open(into + ".status", "w").write(str(status))
`

const nodeReader = `
import { createRequire } from "node:module";
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
const require = createRequire(join(process.env.MODULES, "x.js"));
const yauzl = require("yauzl"), tar = require("tar");
const { OUT, DIR, LIST } = process.env;
const unzip = (path, into) => new Promise((resolve, reject) => yauzl.open(path, { lazyEntries: true, strictFileNames: true }, (err, zip) => {
  if (err) return reject(err);
  zip.on("error", reject).on("end", resolve).on("entry", (entry) => {
    if (entry.fileName.endsWith("/")) return zip.readEntry();
    zip.openReadStream(entry, async (err, from) => {
      if (err) return reject(err);
      try {
        const to = join(into, entry.fileName);
        mkdirSync(dirname(to), { recursive: true });
        await pipeline(from, createWriteStream(to, { flags: "wx" }));
        zip.readEntry();
      } catch (e) { reject(e); }
    });
  });
  zip.readEntry();
}));
for (const name of readFileSync(LIST, "utf8").split("\n").filter(Boolean)) {
  const into = join(OUT, name);
  mkdirSync(into);
  let status = 0, said = "";
  try {
    if (name.endsWith(".zip")) await unzip(join(DIR, name), into);
    else await tar.x({ file: join(DIR, name), cwd: into, strict: true });
  } catch (e) { status = 1; said = String(e); }
  writeFileSync(into + ".log", said);
  writeFileSync(into + ".status", String(status));
}
`

// TestOneReading makes archives that programs might read differently. Each is refused by
// Hallmark, or every other reader unpacks exactly the files that Hallmark gives. It needs
// the network, for two packages of npm.
func TestOneReading(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("uses the network")
	}
	for _, program := range []string{"unzip", "bsdtar", "tar", "python3", "node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("%v; 'make test' installs it", err)
		}
	}
	n, seed := forgedShort, forgeSeed
	for name, to := range map[string]*int{"HALLMARK_FORGED": &n, "HALLMARK_FORGE_SEED": &seed} {
		if s := os.Getenv(name); s != "" {
			var err error
			if *to, err = strconv.Atoi(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	modules := filepath.Join(dir, "npm")
	if err := built.Modules(t, modules, readersOfNode...); err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(dir, "read.py"), pythonReader)
	world.Write(t, filepath.Join(dir, "read.mjs"), nodeReader)

	forged := filepath.Join(dir, "forged")
	if err := os.Mkdir(forged, 0o700); err != nil {
		t.Fatal(err)
	}
	ours, what := map[string]contents{}, map[string]string{}
	refused := 0
	for i, a := range forge.Archives(uint64(seed), n) {
		got, err := readForged(a)
		if err != nil {
			if _, ok := errors.AsType[*archive.Error](err); !ok {
				t.Errorf("%d, %s: %v is no refusal", i, a.What, err)
			}
			refused++
			continue
		}
		name := fmt.Sprintf("%05d.%s", i, map[bool]string{true: "tar", false: "zip"}[a.Tar])
		if isGzip(a.Data) {
			name += ".gz"
		}
		world.Write(t, filepath.Join(forged, name), string(a.Data))
		ours[name], what[name] = got, a.What
	}
	t.Logf("%d archives of seed %d: %d are refused, %d are given to the other readers", n, seed, refused, len(ours))
	if refused < n/4 || len(ours) < n/10 {
		t.Error("nearly all are refused, or none: this compares nothing")
	}
	shell := []string{"sh", "-c", batch}
	python, node := []string{"python3", "-I", filepath.Join(dir, "read.py")},
		[]string{"node", filepath.Join(dir, "read.mjs")}
	for _, r := range []struct {
		name    string
		zip     bool
		command string // of the batch
		run     []string
	}{
		{"Python zipfile", true, "", python},
		{"Info-ZIP", true, `unzip -qq "$FILE"`, shell},
		{"libarchive", true, `bsdtar --no-xattrs -xf "$FILE"`, shell},
		{"libarchive from a pipe", true, `cat "$FILE" | bsdtar --no-xattrs -xf -`, shell},
		{"yauzl", true, "", node},
		{"Python tarfile", false, "", python},
		{"GNU tar", false, `tar --no-same-owner -xf "$FILE"`, shell},
		{"libarchive, tar", false, `bsdtar --no-xattrs --no-same-owner -xf "$FILE"`, shell},
		{"node-tar", false, "", node},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			if err := os.Mkdir(out, 0o700); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, name := range slices.Sorted(maps.Keys(ours)) {
				if strings.HasSuffix(name, ".zip") == r.zip {
					names = append(names, name)
				}
			}
			list := out + ".list"
			world.Write(t, list, strings.Join(names, "\n")+"\n")
			cmd := exec.CommandContext(t.Context(), r.run[0], r.run[1:]...)
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "OUT="+out, "DIR="+forged, "LIST="+list,
				"COMMAND="+r.command, "MODULES="+modules)
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			for _, name := range names {
				status, _ := os.ReadFile(filepath.Join(out, name+".status"))
				said, _ := os.ReadFile(filepath.Join(out, name+".log"))
				theirs := readUnpacked(t, filepath.Join(out, name))
				// unzip says that nothing is in an empty zip
				failed := strings.TrimSpace(string(status)) != "0" && len(ours[name]) > 0
				if failed || !maps.Equal(theirs, ours[name]) {
					t.Errorf("%s (%s): status %s, %s\nwe give    %v\nthey give  %v", name, what[name],
						bytes.TrimSpace(status), bytes.TrimSpace(said), ours[name], theirs)
				}
			}
		})
	}
}

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// readForged reads an archive to its end, as the product does.
func readForged(a forge.Archive) (contents, error) {
	got := contents{}
	take := func(path string, r io.Reader) error {
		h := digest.NewHasher()
		_, err := io.Copy(h, r)
		got[path] = h.Digest(digest.SHA256).Hex()
		return err
	}
	if a.Tar {
		format := archive.Tar
		if isGzip(a.Data) {
			format = archive.TarGzip
		}
		_, err := archive.Walk(bytes.NewReader(a.Data), format, archive.Limits{},
			func(e archive.Entry, r io.Reader) error {
				return take(e.Path, r)
			})
		return got, err
	}
	files, open, err := archive.OpenZip(bytes.NewReader(a.Data), int64(len(a.Data)), archive.Limits{})
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		r, err := open(f.Path)
		if err == nil {
			err = errors.Join(take(f.Path, r), r.Close())
		}
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

// readUnpacked reads what a program made of an archive.
func readUnpacked(t *testing.T, dir string) contents {
	t.Helper()
	got := contents{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || !d.Type().IsRegular() {
			got[rel] = d.Type().String()
			return err
		}
		data, err := os.ReadFile(name)
		got[filepath.ToSlash(rel)] = digest.FromBytes(data).Hex()
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return got
}

// listed is contents for a message.
func (c contents) String() string {
	data, _ := json.Marshal(map[string]string(c))
	return string(data)
}
