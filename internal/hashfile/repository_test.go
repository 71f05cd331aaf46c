//go:build unix

package hashfile

import (
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
		at, elsewhere := filepath.Join(d, "p", name), filepath.Join(d, "elsewhere")
		writeAll(t, at, "config", "[core]\n", "hooks/pre-commit", "x\n")
		writeAll(t, d, "p/file", "x\n", "w/"+name, "gitdir: ../p\n")
		through, direct := link(t, d, "link", "p/"+name), link(t, d, "direct", filepath.Join("p", name, "config"))
		before := state(t, d)
		p := serve(t, d)
		for _, path := range []string{at + "/config", at + "/hooks/pre-commit", through + "/config", direct,
			d + "/w/" + name} {
			read := p.read(path).ok()
			p.edit(path, read.hash(), insertOp("1:"+tagOf(before[realOf(path)]), "x")).refused("read_only")
			p.write(path, "y\n", read.hash()).refused("read_only")
			p.list(path).ok().says("read-only here")
			p.move(path, elsewhere).refused("read_only")
		}
		for _, path := range []string{at + "/new", at + "/hooks/post-commit", through + "/new", d + "/none/" + name} {
			p.write(path, "x\n").refused("read_only").says("version control")
			allRefused("read_only", p.mkdir(path), p.mkdir(path+"/a/b"), p.move(d+"/p/file", path))
		}
		// Neither the repository nor what holds it is moved.
		allRefused("read_only", p.move(at, elsewhere), p.move(d+"/p", elsewhere))
		if paths := changed(before, state(t, d)); len(paths) > 0 {
			t.Errorf("%q", paths)
		}
		// Also where it is, or holds, the allowed directory.
		for _, root := range []string{at, at + "/hooks"} {
			serve(t, root).write(root+"/new", "x\n").refused("read_only")
		}
	}
}

// put makes a part of a repository: a directory, if its name ends with a slash, or a file.
func (c caller) put(part string) reply {
	if strings.HasSuffix(part, "/") {
		return c.mkdir(part)
	}
	return c.write(part, "ref: refs/heads/main\n")
}

// TestRepositoryByContent: no directory becomes a repository of git by what is written, made
// or moved, in any order.
func TestRepositoryByContent(t *testing.T) {
	for _, parts := range []string{"HEAD objects/ refs/", "objects/ refs/ HEAD", "refs/ HEAD objects/", "HEAD commondir",
		"commondir HEAD", "objects/ refs/ head", "HEAD refs/ Objects.", "refs/ HEAD objects/x/y/"} {
		for _, way := range []string{"made", "moved"} {
			t.Run(parts+" "+way, func(t *testing.T) {
				p := serve(t, dir(t))
				p.mkdir("x").ok()
				parts := strings.Fields(parts)
				for i, part := range parts {
					var r reply
					if way == "made" {
						r = p.put("x/" + part)
					} else {
						name, _, _ := strings.Cut(part, "/")
						p.put("part" + strings.TrimPrefix(part, name)).ok()
						r = p.move("part", "x/"+name)
					}
					if i < len(parts)-1 {
						r.ok()
					} else {
						r.refused("read_only").says("take its directory for a repository")
					}
				}
			})
		}
	}
}

// TestRepositoryAtOnce: of calls at once that each make a part of a repository one is refused.
func TestRepositoryAtOnce(t *testing.T) {
	for round := range 30 {
		d := dir(t)
		p := allowing(t, 0, d)
		allOK(p.mkdir(d+"/parts/objects/x"), p.mkdir(d+"/x"))
		var all []<-chan rawMessage
		for tool, args := range map[string]arguments{
			"write_text_file":  {"path": d + "/x/HEAD", "content": "ref: refs/heads/main\n"},
			"create_directory": {"path": d + "/x/refs"},
			"move_file":        {"source": d + "/parts/objects", "destination": d + "/x/objects"},
		} {
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
}

// TestRepositoryLayouts: in a repository without a name of its own nothing is written or moved, unless git takes it for
// the files of another one: work trees may lie in a bare repository.
func TestRepositoryLayouts(t *testing.T) {
	d := dir(t)
	for _, name := range []string{"bare/HEAD", "bare/objects/info/a", "bare/refs/a", "bare/hooks/a", "bare/config",
		"linked/HEAD", "linked/commondir", "linked/gitdir", "bare/tree/f", "bare/tree/sub/f", "bare/tree/.git",
		"odd/objects/f", "odd/HEAD.md", "odd/refs.go"} {
		write(t, d, name, "x\n")
	}
	p := serve(t, d)
	for _, path := range []string{"bare/config", "bare/hooks/a", "bare/new", "bare/hooks/new", "linked/gitdir",
		"linked/config.worktree", "bare/objects/info/alternates"} {
		p.write(path, "y\n", sum([]byte("x\n")).String()).refused("read_only")
	}
	allRefused("read_only", p.move("bare", "other"), p.move("bare/hooks", "other"),
		serve(t, d+"/bare/hooks").write("new", ""))
	allOK(p.write("bare/tree/new", ""), p.write("bare/tree/sub/new", ""),
		serve(t, d+"/bare/tree/sub").write("newer", ""), p.write("odd/new", ""), p.move("odd", "odder"))
}
