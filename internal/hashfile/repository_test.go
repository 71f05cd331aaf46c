//go:build unix

package hashfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spellings are names that git refuses as ".git" by its rules for NTFS and HFS, and others
// that a file system may take for it: see spelling.TestIsRepository for more.
var spellings = []string{
	".git", ".GIT", ".Git", ".gIt", ".git.", ".git ", ".git. .", ".git...", "git~1", "GIT~1", "Git~1.", "git~1 ",
	"git~2", "git~10",
	".git::$INDEX_ALLOCATION", ".git:stream", "git~1:$DATA", `.git\config`, `a\.git`, ".g\u200cit", ".\u200dgit",
	".gi\u200et", ".git\u200f", ".\u202agit", ".g\u202eit", "\u206a.git", ".git\u206f",
	"\ufeff.git", ".G\u00adIT", ".g\u0131t", ".G\u0130T", "\uff0egit", ".g\u0307it", ".\u0121it", ".git\u00a0",
	".git\u3000", ".git\uff1ax", ".\U0001d420it", ".hg", ".HG", "hg~1", ".jj", ".\u01f0j", ".bzr",
}

// TestRepositoryNames: in a repository, in whatever spelling, by whatever way, nothing is
// written, and it is not moved; reading goes on.
func TestRepositoryNames(t *testing.T) {
	for _, name := range spellings {
		d := dir(t)
		config := write(t, d, "p/"+name+"/config", "[core]\n")
		write(t, d, "p/"+name+"/hooks/pre-commit", "x\n")
		write(t, d, "p/file", "x\n")
		file := write(t, d, "w/"+name, "gitdir: ../p\n")
		must(t, os.Symlink(filepath.Join("p", name), filepath.Join(d, "link")))
		must(t, os.Symlink(filepath.Join("p", name, "config"), filepath.Join(d, "direct")))
		before := state(t, d)
		p := serve(t, d)
		at := filepath.Join(d, "p", name)
		for path, exists := range map[string]bool{
			config: true, at + "/hooks/pre-commit": true, d + "/link/config": true, d + "/direct": true, file: true,
			at + "/new": false, at + "/hooks/post-commit": false, d + "/link/new": false, d + "/none/" + name: false,
		} {
			if exists {
				read := p.read(path).ok()
				p.call("edit_text_file",
					arguments{"path": path, "file_hash": read.hash(),
						"operations": ops(
							arguments{"op": "insert_after", "anchor": "1:" + tagOf(before[realOf(path)]),
								"content": "x"})}).refused("read_only")
				p.write(path, "y\n", read.hash()).refused("read_only")
				if info := p.list(path).ok(); !strings.Contains(info.Text, "read-only here") {
					t.Errorf("%s: %v", path, info.All)
				}
				p.move(path, d+"/elsewhere").refused("read_only")
				continue
			}
			r := p.write(path, "x\n").refused("read_only")
			r.says("version control")
			p.mkdir(path).refused("read_only")
			p.mkdir(path + "/a/b").refused("read_only")
			p.move(d+"/p/file", path).refused("read_only")
		}
		// Neither the repository nor what holds it is moved.
		for _, path := range []string{at, d + "/p"} {
			p.move(path, d+"/elsewhere").refused("read_only")
		}
		if paths := changed(before, state(t, d)); len(paths) > 0 {
			t.Errorf("%q", paths)
		}
		// Also where it is, or holds, the allowed directory.
		for _, root := range []string{at, at + "/hooks"} {
			serve(t, root).write(root+"/new", "x\n").refused("read_only")
		}
	}
}

// TestRepositoryByContent: no directory becomes a repository of git by what is written, made
// or moved, in any order; and in one nothing is written, unless git takes it for the files
// of another one.
func TestRepositoryByContent(t *testing.T) {
	for i, parts := range [][]string{
		{"HEAD", "objects/", "refs/"}, {"objects/", "refs/", "HEAD"}, {"refs/", "HEAD", "objects/"},
		{"HEAD", "commondir"}, {"commondir", "HEAD"},
		{"objects/", "refs/", "head"}, {"HEAD", "refs/", "Objects."}, {"refs/", "HEAD", "objects/x/y/"},
	} {
		for _, way := range []string{"made", "moved"} {
			t.Run(fmt.Sprint(i, way), func(t *testing.T) {
				d := dir(t)
				p := serve(t, d)
				p.mkdir("x").ok()
				p.call("create_directory", arguments{"path": "parts"}).ok()
				for i, part := range parts {
					isDir := strings.HasSuffix(part, "/")
					part = strings.TrimSuffix(part, "/")
					put := func(path string) reply {
						if isDir {
							return p.mkdir(path)
						}
						return p.write(path, "ref: refs/heads/main\n")
					}
					var r reply
					if way == "made" {
						r = put("x/" + part)
					} else {
						part, _, _ = strings.Cut(part, "/")
						put(fmt.Sprint("parts/", i)).ok()
						r = p.move(fmt.Sprint("parts/", i), "x/"+part)
					}
					if i < len(parts)-1 {
						r.ok()
					} else if r.refused("read_only"); !strings.Contains(r.Text, "take its directory for a repository") {
						t.Error(r.Text)
					}
				}
			})
		}
	}
	// Calls at once.
	for round := range 30 {
		d := dir(t)
		p := allowing(t, 0, d)
		p.mkdir(d + "/parts/objects/x").ok()
		var all []<-chan rawMessage
		for tool, args := range map[string]arguments{
			"write_text_file":  {"path": d + "/x/HEAD", "content": "ref: refs/heads/main\n"},
			"create_directory": {"path": d + "/x/refs"},
			"move_file":        {"source": d + "/parts/objects", "destination": d + "/x/objects"},
		} {
			must(t, os.MkdirAll(d+"/x", 0o755))
			all = append(all, p.begin("tools/call", params(tool, args)))
		}
		refused := 0
		for _, w := range all {
			if r := outcome(t, <-w); r.Error != "" {
				r.refused("read_only")
				refused++
			}
		}
		if refused != 1 {
			t.Fatalf("round %d: %d of three parts were refused", round, refused)
		}
	}
	d := dir(t)
	for _, name := range []string{"bare/HEAD", "bare/objects/a", "bare/refs/a", "bare/hooks/a", "bare/config",
		"linked/HEAD", "linked/commondir", "linked/gitdir", "bare/tree/f", "bare/tree/sub/f", "bare/tree/.git",
		"odd/objects/f", "odd/HEAD.md", "odd/refs.go"} {
		write(t, d, name, "x\n")
	}
	p := serve(t, d)
	for _, path := range []string{"bare/config", "bare/hooks/a", "bare/new", "bare/hooks/new", "linked/gitdir",
		"linked/config.worktree", "bare/objects/info/alternates"} {
		must(t, os.MkdirAll(filepath.Join(d, "bare/objects/info"), 0o755))
		p.write(path, "y\n", sum([]byte("x\n")).String()).refused("read_only")
	}
	p.move("bare", "other").refused("read_only")
	p.move("bare/hooks", "other").refused("read_only")
	serve(t, d+"/bare/hooks").write("new", "").refused("read_only")
	// Work trees may lie in a bare repository.
	p.write("bare/tree/new", "").ok()
	p.write("bare/tree/sub/new", "").ok()
	serve(t, d+"/bare/tree/sub").write("newer", "").ok()
	p.write("odd/new", "").ok()
	p.move("odd", "odder").ok()
}
