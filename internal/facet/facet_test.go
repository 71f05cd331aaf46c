package facet

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/tree"
)

// directory is the files of a directory.
type directory map[string]string

func (d directory) files() []tree.File {
	var out []tree.File
	for path, content := range d {
		out = append(out, tree.File{Path: path, Size: int64(len(content))})
	}
	return out
}

func (d directory) open(path string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(d[path])), nil
}

func (d directory) pack(t rapid.TB) ([]byte, *Packed) {
	t.Helper()
	var out bytes.Buffer
	p, err := Pack(context.Background(), &out, d.files(), d.open, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), p
}

func sample() directory {
	return directory{
		"facet.json": `{"name": "acme-review", "version": "1.2.0",
			"skills": {"review": {"description": "Reviews", "files": ["run.sh"]}},
			"agents": {"critic": {"description": "Criticises"}},
			"commands": {"go": {"description": "Goes"}},
			"files": ["NOTICE"]}`,
		"skills/review/SKILL.md": "# Review\r\n",
		"skills/review/run.sh":   "#!/bin/sh\n",
		"agents/critic.md":       "\x00\xff not text",
		"commands/go.md":         "",
		"NOTICE":                 "©",
	}
}

func TestPack(t *testing.T) {
	d := sample()
	d["README.md"], d["skills/review/draft.md"] = "left", "left"
	data, p := d.pack(t)
	if again, _ := d.pack(t); !bytes.Equal(data, again) {
		t.Error("packing twice gives other bytes")
	}
	if !slices.Equal(p.Left, []string{"README.md", "skills/review/draft.md"}) {
		t.Errorf("left %q", p.Left)
	}
	want := []Deliverable{
		{KindSkill, "review", []string{"skills/review/SKILL.md", "skills/review/run.sh"}},
		{KindAgent, "critic", []string{"agents/critic.md"}},
		{KindCommand, "go", []string{"commands/go.md"}},
	}
	if got := p.Manifest.Deliverables(); !slices.EqualFunc(got, want, func(a, b Deliverable) bool {
		return a.Kind == b.Kind && a.Name == b.Name && slices.Equal(a.Paths, b.Paths)
	}) {
		t.Errorf("got %v", got)
	}
	if p.ContentHash.String() != digest.FromBytes(data).String() || p.Size != int64(len(data)) {
		t.Error(p.ContentHash, p.Size)
	}

	// Reading gives what was packed, member by member, and to the one who keeps it.
	kept := directory{}
	a, err := Read(bytes.NewReader(data), archive.Limits{}, func(e archive.Entry, r io.Reader) error {
		content, err := io.ReadAll(r)
		kept[e.Path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range sample() {
		if kept[path] != content || a.Digests[path].String() != digest.FromBytes([]byte(content)).String() {
			t.Errorf("%s: got %q", path, kept[path])
		}
	}
	fingerprint, size, err := tree.FacetTar(t.Context(), a.Files, sample().open, 0)
	if err != nil || fingerprint.String() != a.Integrity.String() || size != a.TarSize || len(kept) != len(sample()) {
		t.Error(fingerprint, size, err)
	}
	if a.Name() != "acme-review" || a.Version() != "1.2.0" {
		t.Error(a.Name(), a.Version())
	}
}

// What keeps members may read as little as it likes; its errors end the reading.
func TestReadSink(t *testing.T) {
	data, p := sample().pack(t)
	a, err := Read(bytes.NewReader(data), archive.Limits{}, func(archive.Entry, io.Reader) error { return nil })
	if err != nil || a.Evidence("x", "y").Count(evidence.Match) != 1+len(sample()) ||
		a.Integrity.String() != p.Integrity.String() {
		t.Error(err)
	}
	full := errors.New("disk full")
	if _, err := Read(bytes.NewReader(data), archive.Limits{}, func(archive.Entry, io.Reader) error {
		return full
	}); !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestPackRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(directory)
		limits archive.Limits
		want   string
	}{
		"no manifest": {func(d directory) { delete(d, "facet.json") }, archive.Limits{},
			"neither facet.json nor server.json"},
		"missing file": {func(d directory) { delete(d, "NOTICE") }, archive.Limits{},
			"NOTICE: follows from facet.json, but is not there"},
		"empty manifest": {func(d directory) { d["facet.json"] = "" }, archive.Limits{}, "facet.json is not valid"},
		"large manifest": {func(d directory) { d["facet.json"] += strings.Repeat(" ", MaxManifest) }, archive.Limits{},
			"the limit is 1048576"},
		"packed limit":   {func(directory) {}, archive.Limits{Packed: 300}, "more than 300 bytes"},
		"outer limit":    {func(directory) {}, archive.Limits{Packed: 2000}, "more than 2000 bytes"},
		"unpacked limit": {func(directory) {}, archive.Limits{Unpacked: 10239}, "more than 10239 bytes unpacked"},
		"too many":       {func(directory) {}, archive.Limits{Entries: 5}, "more than 5 entries"},
		"too compressed": {func(d directory) { d["NOTICE"] = strings.Repeat("x", 3<<20) }, archive.Limits{},
			"more than 200 times"},
		"source, no file": {func(d directory) {
			clear(d)
			d["server.json"] = `{"name":"ab","version":"1.0.0","runtime":"bun","entry":"a.js"}`
		}, archive.Limits{}, "a.js: is the entry of server.json, but is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			d := sample()
			c.change(d)
			var out bytes.Buffer
			_, err := Pack(t.Context(), &out, d.files(), d.open, c.limits)
			if err == nil || !strings.Contains(err.Error(), c.want) || evidence.ClassOf(err) != evidence.Validation {
				t.Errorf("got %v; want %q", err, c.want)
			}
			if out.Len() > 0 {
				t.Error("something was written")
			}
		})
	}
}

// A file that changes between the two times it is read is noticed.
func TestPackChanging(t *testing.T) {
	d, n := sample(), 0
	open := func(path string) (io.ReadCloser, error) {
		if path == "NOTICE" {
			n++
			return io.NopCloser(strings.NewReader(fmt.Sprintf("%02d", n))), nil
		}
		return d.open(path)
	}
	if _, err := Pack(t.Context(), io.Discard, d.files(), open, archive.Limits{}); !errors.Is(err, tree.ErrChanged) {
		t.Error(err)
	}
}

func TestPackSource(t *testing.T) {
	d := directory{
		"server.json": `{"name":"@acme/notes","version":"1.4.0","runtime":"node","entry":"dist/i.js","x":1}`,
		"dist/i.js":   "1", "package.json": "{}",
	}
	_, p := d.pack(t)
	if p.Source == nil || p.Manifest != nil || len(p.Files) != 3 || len(p.Left) > 0 || p.Name() != "@acme/notes" ||
		len(p.Warnings()) != 1 {
		t.Errorf("got %+v", p)
	}
}

// Claims are compared in the order lock, registry, archive; all of it is reported.
func TestEvidenceOrder(t *testing.T) {
	data, p := sample().pack(t)
	other := digest.FromBytes(nil)
	claim := func(subject string, scheme evidence.Scheme, by evidence.Authority, want digest.Digest) evidence.Claim {
		return evidence.Claim{Subject: subject, Scheme: scheme, Authority: by, Want: []digest.Digest{want}}
	}
	a, err := Read(bytes.NewReader(data), archive.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	report := a.Evidence("f", "f.facet",
		claim("f", evidence.FacetTar, evidence.Lock, other),
		claim("f", evidence.FacetTar, evidence.Registry, p.Integrity),
		claim("f", evidence.File, evidence.Registry, p.ContentHash),
		claim("f", evidence.File, evidence.Registry, p.Integrity), // the other domain's hash
		claim("f", evidence.FacetTar, evidence.Registry, p.ContentHash),
		claim("f/NOTICE", evidence.File, evidence.Lock, p.Digests["NOTICE"]),
		claim("f/NOTICE", evidence.File, evidence.Lock, other),
		claim("f/ghost", evidence.File, evidence.Lock, other),
		claim("f", evidence.Surface, evidence.Lock, p.Integrity),
		claim("f/NOTICE", evidence.FacetTar, evidence.Lock, p.Digests["NOTICE"]),
	)
	want := []evidence.Outcome{evidence.Mismatch, evidence.Match, evidence.Match, evidence.Mismatch, evidence.Mismatch,
		evidence.Match, evidence.Mismatch,
		evidence.Unverifiable, evidence.Unverifiable, evidence.Unverifiable}
	for i, e := range report {
		if i < len(want) {
			if e.Outcome != want[i] {
				t.Errorf("%d: %s of %s by %s", i, e.Outcome, e.Subject, e.Authority)
			}
		} else if e.Outcome != evidence.Match || e.Authority != evidence.Manifest {
			t.Errorf("%+v", e)
		}
	}
	if len(report) != len(want)+1+len(sample()) {
		t.Error(len(report))
	}
}

// Whatever single byte of an archive changes, it is refused, or a claim is found
// false, or its content_hash alone is another (in what gzip ignores).
func TestEveryByteCounts(t *testing.T) {
	data, p := sample().pack(t)
	for i := range data {
		bad := slices.Clone(data)
		bad[i] ^= 1
		a, err := Read(bytes.NewReader(bad), archive.Limits{}, nil)
		if err != nil {
			continue
		}
		if a.ContentHash.String() == p.ContentHash.String() {
			t.Fatalf("byte %d can change", i)
		}
		if a.Evidence("x", "y").Count(evidence.Mismatch) == 0 && a.Integrity.String() != p.Integrity.String() {
			t.Fatalf("byte %d changes the contents, and no claim is false", i)
		}
	}
}

// A .facet that nobody vouches for is held to its own claims. They cover every byte but
// these, whose change alters nothing that is unpacked, and is told by the content_hash of
// a record alone: in the header of gzip the flag FTEXT and those that are reserved, the
// time, the extra flags and the system; what the compressed stream can say in other
// bits, such as those that fill its last byte; and white space in build-manifest.json.
func TestArchiveFlips(t *testing.T) {
	rounds := 2000
	if text := os.Getenv("HALLMARK_FLIPS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("HALLMARK_FLIPS is %q", text)
		}
	}
	data, p := sample().pack(t)
	gz := bytes.Index(data, []byte{0x1f, 0x8b, 8, 0})
	if gz < 0 {
		t.Fatal("no gzip member")
	}
	size, err := strconv.ParseInt(string(data[gz-tree.TarBlock+124:gz-tree.TarBlock+135]), 8, 64)
	if err != nil {
		t.Fatal(err)
	}
	last := gz + int(size) - 9 // before checksum and size
	unnoticed := map[string]int{}
	for range rounds {
		bad := slices.Clone(data)
		at := rand.N(len(data))
		switch rand.N(8) { // where most is not covered
		case 0:
			at = gz + rand.N(16)
		case 1:
			at = last - 4*rand.N(2)
		}
		bad[at] ^= byte(1 + rand.N(255))
		a, err := Read(bytes.NewReader(bad), archive.Limits{}, nil)
		if err != nil || a.Evidence("x", "y").Count(evidence.Mismatch) > 0 {
			continue
		}
		if a.Integrity.String() != p.Integrity.String() || a.ContentHash.String() == p.ContentHash.String() {
			t.Fatalf("byte %d, %#x to %#x, changes the contents, or no hash", at, data[at], bad[at])
		}
		switch i := at - gz; {
		case i == 3 && bad[at]&0x1e == 0:
			unnoticed["flags of gzip"]++
		case i >= 4 && i < 8:
			unnoticed["time of gzip"]++
		case i == 8 || i == 9:
			unnoticed["extra flags and system of gzip"]++
		case i >= 10 && at <= last && gunzip(bad[gz:gz+int(size)]) == gunzip(data[gz:gz+int(size)]):
			// Filling bits, or a match that is found as well elsewhere, in a run of zeros: the same text in other words.
			unnoticed["other deflate of the same"]++
		case at < gz-tree.TarBlock && strings.ContainsRune(" \t\r\n", rune(data[at])) &&
			strings.ContainsRune(" \t\r\n", rune(bad[at])):
			unnoticed["white space"]++
		default:
			t.Errorf("byte %d, %#x to %#x, is not noticed (%d of gzip)", at, data[at], bad[at], i)
		}
	}
	t.Logf("%d changes; not noticed: %v", rounds, unnoticed)
}

// gunzip is what a gzip member holds, or why it holds nothing.
func gunzip(member []byte) string {
	r, err := gzip.NewReader(bytes.NewReader(member))
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestPackRoundTrip(t *testing.T) {
	word := rapid.StringMatching(`[bd-km-oq-z][a-z0-9]{2,6}`).Filter(func(s string) bool { return s != "nul" }) // no device of Windows
	rapid.Check(t, func(t *rapid.T) {
		d := directory{}
		skills := map[string][]string{}
		for range rapid.IntRange(1, 4).Draw(t, "skills") {
			name := word.Draw(t, "name")
			skills[name] = rapid.SliceOfNDistinct(word, 0, 3, rapid.ID[string]).Draw(t, "files")
		}
		var entries []string
		for name, files := range skills {
			var quoted []string
			for _, f := range files {
				quoted = append(quoted, fmt.Sprintf("%q", f))
				d["skills/"+name+"/"+f] = rapid.String().Draw(t, "content")
			}
			d["skills/"+name+"/SKILL.md"] = rapid.String().Draw(t, "content")
			entries = append(entries,
				fmt.Sprintf(`%q:{"description":"x","files":[%s]}`, name, strings.Join(quoted, ",")))
		}
		d["facet.json"] = `{"name":"ab","version":"1.0.0","skills":{` + strings.Join(entries, ",") + `}}`
		data, p := d.pack(t)
		a, err := Read(bytes.NewReader(data), archive.Limits{}, nil)
		if err != nil || len(a.Files) != len(d) || len(p.Left) > 0 || a.Integrity.String() != p.Integrity.String() {
			t.Fatal(err)
		}
	})
}
