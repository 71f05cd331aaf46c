package place

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rulesIn writes an AGENTS.md into a new directory, and returns that.
func rulesIn(t *testing.T, at, text string) string {
	t.Helper()
	must(t, os.MkdirAll(at, 0o755))
	must(t, os.WriteFile(filepath.Join(at, rulesFile), []byte(text), 0o644))
	return at
}

func open(t *testing.T, at string) *os.Root {
	t.Helper()
	dir, err := os.OpenRoot(at)
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	return dir
}

// TestSets: what each of the three lists does, in the directory of the rules, above it and below.
func TestSets(t *testing.T) {
	base := t.TempDir()
	rulesIn(t, base, "---\nforbidden: [root/no]\n---\n")
	root := rulesIn(t, filepath.Join(base, "root"), "---\nforbidden: \"*.pem\"\nread_only: fixed/\nignore: made\n---\n")
	sub := rulesIn(t, filepath.Join(root, "sub"), "---\nforbidden: [own, "+filepath.ToSlash(root)+"/sub/abs/**]\n---\n")
	sets := readRootRules(open(t, root), root).Enter(open(t, sub), "sub")
	for path, want := range map[string]string{
		"no": "../AGENTS.md", "no/x": "../AGENTS.md", "a.pem": "AGENTS.md", "sub/A.PEM/x": "AGENTS.md",
		"sub/own": "sub/AGENTS.md", "sub/abs/x": "sub/AGENTS.md", "sub/x/own": "sub/AGENTS.md", "own": "", "yes": "", "sub/no": "", ".": "",
	} {
		if file, ok := sets.Forbids(path); file != want || ok != (want != "") {
			t.Errorf("%s is forbidden by %q, want %q", path, file, want)
		}
	}
	info, err := os.Stat(filepath.Join(root, rulesFile))
	must(t, err)
	for path, want := range map[string]bool{"fixed": true, "fixed/x": true, "AGENTS.md": true, "agents.MD": true,
		"AGENTS.md.": true, "sub/AGENTS.md": true, "free": false, "free/AGENTS.md": false} {
		if _, ok := sets.Protects(path, nil); ok != want {
			t.Errorf("%s is protected: %v", path, ok)
		}
	}
	if _, ok := sets.Protects("CLAUDE.md", info); !ok {
		t.Error("the file of the rules is not protected under another name")
	}
	for path, want := range map[string]bool{"made": true, "sub/made/x": true, "made2": false, "no": false} {
		if sets.Ignores(path) != want {
			t.Errorf("%s is ignored: %v", path, !want)
		}
	}
}

// TestUnreadableRules: an AGENTS.md that is there and cannot be read forbids, with the reason, also above the root.
func TestUnreadableRules(t *testing.T) {
	for name, c := range map[string]struct {
		make func(file string) error
		says string
	}{
		"a directory":       {func(file string) error { return os.Mkdir(file, 0o755) }, "regular file"},
		"a link to nothing": {func(file string) error { return os.Symlink("none", file) }, "leads nowhere"},
		"a link to itself":  {func(file string) error { return os.Symlink(rulesFile, file) }, "cannot be read"},
		"too large": {func(file string) error { return os.WriteFile(file, make([]byte, MaxRules+1), 0o644) },
			"more than"},
		"no permission": {func(file string) error {
			if os.Getuid() == 0 { // who may read everything
				return os.Mkdir(file, 0o755)
			}
			return os.WriteFile(file, nil, 0)
		}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			root := filepath.Join(base, "a/b/root")
			must(t, os.MkdirAll(root, 0o755))
			must(t, c.make(filepath.Join(base, "a", rulesFile)))
			for at, want := range map[string]string{"a": "AGENTS.md (", "a/b": "../AGENTS.md (", "a/b/root": "../../AGENTS.md ("} {
				at = filepath.Join(base, at)
				file, ok := readRootRules(open(t, at), at).Forbids("x")
				if !ok || !strings.HasPrefix(file, want) || !strings.Contains(file, c.says) {
					t.Errorf("%s: %q %v", at, file, ok)
				}
			}
		})
	}
}

// TestRootOfFileSystem: nothing is above it, and from a directory below it the way up has an end.
func TestRootOfFileSystem(t *testing.T) {
	top := filepath.VolumeName(t.TempDir()) + string(filepath.Separator)
	if above := readRootRules(open(t, top), top)[0].above; len(above) != 0 {
		t.Errorf("%d", len(above))
	}
	if file, ok := readRootRules(open(t, top), top).Forbids("none"); ok {
		t.Error(file)
	}
}

// TestOtherSpellings: a rule holds for names that a file system takes for the one that it names.
func TestOtherSpellings(t *testing.T) {
	s := &ruleSet{dir: "."}
	must(t, s.parse("---\nforbidden: [\"*.pem\", caf\u00e9/secret, \"e\u0301t\u00e9\", \"[\u00e0-\u00e9]x\"]\n---\n"))
	for path, want := range map[string]bool{
		"a.pem": true, "a.PEM": true, "a.pem.": true, "a.pem ": true, "a.pem::$DATA": true, "a.pem. /x": true, "a.pemx": false,
		"caf\u00e9/secret": true, "cafe\u0301/secret": true, "CAFE\u0301/Secret.": true, "cafe/secret": false,
		"\u00e9t\u00e9": true, "e\u0301te\u0301": true, "e\u0301t\u00e9": true, "\u00c9T\u00c9/x": true, "ete": false,
		"e\u0301x": true, "\u00e9x": true, "ex": false,
	} {
		if s.forbids(path) != want {
			t.Errorf("%+q is forbidden: %v", path, !want)
		}
	}
}

func TestGitIgnore(t *testing.T) {
	base := t.TempDir()
	write := func(at, text string) *os.Root {
		must(t, os.MkdirAll(at, 0o755))
		must(t, os.WriteFile(filepath.Join(at, ".gitignore"), []byte(text), 0o644))
		return open(t, at)
	}
	files := []gitIgnore{
		readGitIgnore(write(base, "\ufeff*.log\r\n/out/\nx \n\\!y\n[bad\n"), "."),
		readGitIgnore(write(filepath.Join(base, "sub"), "!keep.log\n"), "sub"),
	}
	for path, want := range map[string]bool{"a.log": true, "sub/a.log": true, "sub/keep.log": false, "x": true, "!y": true,
		"A.LOG": false, "# c": false, "out": false, "[bad": false} {
		if gitIgnored(files, path, false) != want {
			t.Errorf("%s is ignored: %v", path, !want)
		}
	}
	if !gitIgnored(files, "out", true) {
		t.Error("a directory is not ignored")
	}
	if none := readGitIgnore(open(t, t.TempDir()), "."); len(none.globs) != 0 {
		t.Error("globs of no file")
	}
}
