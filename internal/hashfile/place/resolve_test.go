//go:build unix

package place

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// dir is a temporary directory without links in its path.
func dir(t *testing.T) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return d
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	return path
}

// writeAll makes files, each given by its name and its text.
func writeAll(t *testing.T, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		write(t, dir, files[i], files[i+1])
	}
}

// allow returns what a call may use if these directories are allowed.
func allow(t *testing.T, dirs ...string) *Scope {
	t.Helper()
	source, err := NewSource(dirs, 0)
	must(t, err)
	sc := source.Configured()
	t.Cleanup(func() { sc.Close(); source.Close() })
	return sc
}

// at resolves a path that must be one.
func at(t *testing.T, sc *Scope, path string) *Place {
	t.Helper()
	p, err := Resolve(sc, path)
	if err != nil {
		t.Fatalf("%q: %v", path, err)
	}
	t.Cleanup(p.Close)
	return p
}

// refused demands a refusal with a code.
func refused(t *testing.T, what string, err error, code hashline.Code) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// readAll returns what the file at a place holds.
func readAll(t *testing.T, p *Place) string {
	t.Helper()
	f, _, err := p.Open(os.O_RDONLY)
	must(t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	must(t, err)
	return string(data)
}

// link makes links, each as name and target.
func link(t *testing.T, dir string, links ...[2]string) {
	t.Helper()
	for _, l := range links {
		must(t, os.Symlink(l[1], filepath.Join(dir, l[0])))
	}
}

// TestRelativePaths: with several allowed directories a relative path is that of the only file that it can mean.
func TestRelativePaths(t *testing.T) {
	a, b := dir(t), dir(t)
	write(t, a, "one", "one\n")
	write(t, b, "two", "two\n")
	write(t, a, "both", "a\n")
	write(t, b, "both", "b\n")
	write(t, a, "AGENTS.md", "---\nforbidden: [secret]\n---\n")
	write(t, a, "secret", "no\n")
	sc := allow(t, a, b)
	for path, want := range map[string]string{"one": "one\n", "two": "two\n", "./two": "two\n",
		"../" + filepath.Base(a) + "/one": "one\n"} {
		if got := readAll(t, at(t, sc, path)); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	_, err := Resolve(sc, "both")
	refused(t, "both", err, hashline.Invalid)
	for _, full := range []string{filepath.Join(a, "both"), filepath.Join(b, "both")} {
		if err == nil || !strings.Contains(err.Error(), full) {
			t.Errorf("%s does not name %s", err, full)
		}
	}
	for path, code := range map[string]hashline.Code{"none": hashline.Invalid, "secret": Forbidden,
		"../../etc/passwd": OutsideRoots, "~/x": hashline.Invalid} {
		_, err := Resolve(sc, path)
		refused(t, path, err, code)
	}
}

// TestResolve: each spelling of a path leads to the one place that it means, whatever links are on the way.
func TestResolve(t *testing.T) {
	base := dir(t)
	in := filepath.Join(base, "in")
	write(t, in, "file", "fine\n")
	write(t, in, "sub/deep/f", "deep\n")
	link(t, in, [2]string{"down", "sub/deep"}, [2]string{"absolute", filepath.Join(in, "sub")},
		[2]string{"around", "../in/file"}, [2]string{"dangling", "none"}, [2]string{"sub/up", "../file"})
	sc := allow(t, in)
	for path, want := range map[string]string{
		".": ".", "file": "file", "./sub//deep/../deep/f": "sub/deep/f", "../in/file": "file", in: ".", in + "/file": "file",
		"file://" + in + "/sub/d%65ep": "sub/deep", "down/f": "sub/deep/f", "absolute/deep/f": "sub/deep/f",
		"around": "file", "sub/up": "file", "absolute/up": "file", "down": "sub/deep", "sub/": "sub",
	} {
		p := at(t, sc, path)
		if p.Rel != want || p.Info == nil || p.Real() != filepath.Join(in, want) || p.Asked != path {
			t.Errorf("%s: %s, %s, %v", path, p.Rel, p.Real(), p.Info)
		}
	}
	for path, want := range map[string]struct{ rel, missing string }{"dangling": {"none", ""}, "none": {"none", ""},
		"new/x/y": {"new/x/y", "x y"}, "down/n": {"sub/deep/n", ""}} {
		p := at(t, sc, path)
		if p.Rel != want.rel || p.Info != nil || strings.Join(p.Missing, " ") != want.missing {
			t.Errorf("%s: %s, %q, %v", path, p.Rel, p.Missing, p.Info)
		}
	}
	for name, isLink := range map[string]bool{"around": true, "dangling": true, "absolute": true, "down/f": false} {
		p, err := ResolveName(sc, name)
		if err != nil || p.Info.Mode()&fs.ModeSymlink != 0 != isLink || isLink && p.Rel != name {
			t.Errorf("the name %s: %v, %v", name, p, err)
			continue
		}
		p.Close()
	}
}

// TestResolveRefused: what lies outside or is no path is refused, with the same text whether something is there.
func TestResolveRefused(t *testing.T) {
	base := dir(t)
	in := filepath.Join(base, "in")
	writeAll(t, in, "file", "fine\n", "AGENTS.md", "---\nforbidden: [secret, \"*.pem\"]\n---\n", "secret/key", "no\n")
	write(t, base, "in_evil/f", "SECRET\n")
	write(t, base, "out/f", "SECRET\n")
	link(t, in, [2]string{"out", "../out"}, [2]string{"self", "self"}, [2]string{"a", in + "/b"},
		[2]string{"b", in + "/a"}, [2]string{"above", ".."}, [2]string{"hidden", "secret"}, [2]string{"gone", "none/../file"})
	sc := allow(t, in)
	for code, paths := range map[hashline.Code][]string{
		hashline.Invalid: {"", "a\x00b", strings.Repeat("x", maxPath+1)},
		OutsideRoots: {"../out/f", "../out/none", in + "_evil/f", "out", "out/f", "out/none", "above", "above/out/f",
			"/", "file:///etc/passwd", "file://" + in + "/%2e%2e/out/f"},
		NotFound:  {"self", "a", "a/x", "gone", "file/x"},
		Forbidden: {"secret", "secret/none", "hidden/key", "new/x.pem"},
	} {
		for _, path := range paths {
			p, err := Resolve(sc, path)
			if refused(t, path, err, code); err == nil {
				p.Close()
			}
		}
	}
	_, there := Resolve(sc, "out/f")
	_, missing := Resolve(sc, "out/g")
	if strings.Replace(there.Error(), "out/f", "out/g", 1) != missing.Error() {
		t.Errorf("%v and %v tell apart what is outside", there, missing)
	}
}

// TestManyLinks: a path leads through as many links as is allowed, and no more.
func TestManyLinks(t *testing.T) {
	d := dir(t)
	write(t, d, "l", "end\n")
	for i := range maxLinks + 1 {
		link(t, d, [2]string{"l" + strings.Repeat("i", i+1), "l" + strings.Repeat("i", i)})
	}
	sc := allow(t, d)
	if p := at(t, sc, "l"+strings.Repeat("i", maxLinks)); p.Rel != "l" {
		t.Errorf("it leads to %s", p.Rel)
	}
	_, err := Resolve(sc, "l"+strings.Repeat("i", maxLinks+1))
	refused(t, "one link more", err, NotFound)
}

// TestUnicodeNames: a name that is written composed is that of the only file that is the same once both are composed;
// other look-alikes are other names.
func TestUnicodeNames(t *testing.T) {
	d := dir(t)
	sc := allow(t, d)
	write(t, d, "e\u0301t\u00e9/cafe\u0301", "decomposed\n")
	for _, path := range []string{"\u00e9t\u00e9/caf\u00e9", "e\u0301te\u0301/cafe\u0301"} {
		p := at(t, sc, path)
		if p.Info == nil || readAll(t, p) != "decomposed\n" || p.CheckExists() != nil {
			t.Errorf("%+q is not found", path)
		}
	}
	if p := at(t, sc, "\u00e9t\u00e9/cafe"); p.Info != nil {
		t.Error("a name without accents is taken for one with them")
	}
	write(t, d, "\u1ea5", "composed\n") // which can be decomposed in part, too
	if p := at(t, sc, "\u00e2\u0301"); p.Info == nil || readAll(t, p) != "composed\n" {
		t.Error("what is composed in part is not found")
	}
	write(t, d, "a\u0302\u0301", "decomposed\n")
	if p := at(t, sc, "\u00e2\u0301"); runtime.GOOS == "linux" && p.Info != nil {
		t.Error("one of two files is taken")
	}
}

// TestOddNamesThatExist: files of odd names are opened, and those of frameworks are created.
func TestOddNamesThatExist(t *testing.T) {
	d := dir(t)
	sc := allow(t, d)
	odd := []string{"'quoted'", " blank ", "~", "$x", "a:3", "[id].tsx", "*"}
	for _, name := range odd {
		if p := at(t, sc, name); (p.CheckName() == nil) != slices.Contains([]string{"a:3", "[id].tsx", "*"}, name) {
			t.Errorf("%s may be created: %v", name, p.CheckName())
		}
		write(t, d, name, "x\n")
		if p := at(t, sc, name); readAll(t, p) != "x\n" || p.CheckName() != nil {
			t.Errorf("%s: %v", name, p.CheckName())
		}
	}
	for _, name := range []string{"[slug].tsx", "b~", "it's", "c:3", "(group)", "#x#"} {
		if err := at(t, sc, name).CheckName(); err != nil {
			t.Error(err)
		}
	}
}
