//go:build unix

package hashfile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// secretText is in every file that is forbidden.
const secretText = "SECRET\n"

// callAll calls each tool that the server offers with a path wherever it takes one, and returns the answers by the
// tool's name. What it takes besides is made up.
func (p *peer) callAll(path, other string) map[string]reply {
	p.t.Helper()
	offered, err := p.s.ListTools(p.t.Context(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	made := map[string]any{
		"path": path, "paths": []string{path}, "source": path, "destination": other, "pattern": ".", "content": "x\n",
		"file_hash":  sum([]byte(secretText)).String(),
		"operations": ops(arguments{"op": "insert_after", "anchor": "0:", "content": "x"}),
	}
	replies := map[string]reply{}
	for _, tool := range offered.Tools {
		takes := tool.InputSchema.(map[string]any)["properties"]
		args := arguments{}
		properties, _ := takes.(map[string]any)
		for name := range properties {
			if value, ok := made[name]; ok {
				args[name] = value
			}
		}
		if args["path"] == nil && args["paths"] == nil && args["source"] == nil {
			continue
		}
		replies[tool.Name] = p.call(tool.Name, args)
		if args["destination"] != nil { // also the other way
			args["source"], args["destination"] = other, path
			replies[tool.Name+" to it"] = p.call(tool.Name, args)
		}
	}
	return replies
}

// spellPath returns a path below d that leads to the file rel, in one of the ways in which a path can be written.
func spellPath(rng *rand.Rand, d, rel string) string {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		switch rng.IntN(9) {
		case 0:
			parts[i] = strings.ToUpper(part)
		case 1:
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		case 2:
			parts[i] = "./" + part
		case 3:
			parts[i] = "/" + part
		case 4:
			parts[i] = part + pick(".", " ", "::$DATA", ". .")
		case 5:
			if i > 0 {
				parts[i] = "../" + parts[i-1] + "/" + part
			}
		case 6:
			parts[i] = strings.NewReplacer("\u00e9", "e\u0301").Replace(part)
		}
	}
	return pick("", d+"/", "./", "free/../", "links/up/", d+"/links/../", d+"/links/up/free/../", "../"+filepath.Base(d)+"/") +
		strings.Join(parts, "/") + pick("", "", "/", "/.", "/../"+filepath.Base(rel))
}

// secretsOf returns the content of all files below d that hold a secret.
func secretsOf(t *testing.T, d string) map[string]string {
	t.Helper()
	found := state(t, d)
	maps.DeleteFunc(found, func(_, text string) bool { return !strings.Contains(text, secretText) })
	return found
}

// spellElements returns one form for paths of which Windows or macOS takes each element for the same.
func spellElements(path string) string {
	elements := strings.Split(strings.ToLower(strings.ReplaceAll(path, "e\u0301", "\u00e9")), "/")
	for i, e := range elements {
		elements[i] = spelling.Stem(e)
	}
	return strings.Join(elements, "/")
}

// TestRulesSpelled: a file that a rule forbids by its real path is not read, listed, searched, moved or written,
// however the rule is written, and the path, and by whatever tool.
func TestRulesSpelled(t *testing.T) {
	rounds, paths := 12, 8
	if testing.Short() {
		rounds = 6
	}
	rng := rand.New(rand.NewPCG(15, 13)) // so that a failure comes again
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	codes := map[string]int{}
	for range rounds {
		d := dir(t)
		rel := pick("hidden/key", "a/hidden/id.pem", "a/b/key.pem", "caf\u00e9/key", "hidden/deep/er/key")
		name, above := filepath.Base(rel), filepath.Dir(rel)
		glob := pick(rel, strings.ToUpper(rel), "/"+rel, above+"/*", above+"/**", above+"/", "{none,"+above+"}/"+name,
			"**/"+name, name, name[:2]+"*", "["+name[:1]+"]"+name[1:], above+"/{"+name+",x}", "{"+rel+",none}",
			strings.ReplaceAll(rel, "\u00e9", "e\u0301"), above, "?"+name[1:])
		text := "---\nforbidden: " + pick("['%s']", "\"%s\"", "\n- '%s'", "[none, '%s']") + "\n---\n"
		write(t, d, "AGENTS.md", fmt.Sprintf(text, glob))
		disk := strings.ReplaceAll(rel, "\u00e9", pick("\u00e9", "e\u0301"))
		write(t, d, disk, secretText)
		write(t, d, "free/f", "free\n")
		must(t, os.Mkdir(filepath.Join(d, "links"), 0o755))
		for link, to := range map[string]string{"up": "..", "file": "../" + disk, "dir": "../" + filepath.Dir(disk),
			"abs": filepath.Join(d, disk), "again": "up/links/file"} {
			must(t, os.Symlink(to, filepath.Join(d, "links", link)))
		}
		before := secretsOf(t, d)
		p := serve(t, d)
		asked := []string{d, filepath.Join(d, disk), "links/file", "links/abs", "links/again", "links/dir/" + name,
			"links/up/" + disk, filepath.Join(d, strings.Split(disk, "/")[0])}
		for range paths {
			asked = append(asked, spellPath(rng, d, disk))
		}
		for i, path := range asked {
			for tool, r := range p.callAll(path, fmt.Sprintf("free/moved%d", i)) {
				codes[r.Error]++
				lists := strings.HasPrefix(tool, "list_directory") || tool == "directory_tree"
				if strings.Contains(fmt.Sprint(r.Text, r.All), strings.TrimSpace(secretText)) ||
					lists && r.Error == "" && strings.Contains(r.Text, name) {
					t.Errorf("%s of %q, forbidden by %q: %s", tool, path, glob, r.Text)
				}
			}
			if after := secretsOf(t, d); !maps.Equal(before, after) {
				t.Fatalf("%q, forbidden by %q: the files were %q, and are %q", path, glob, before, after)
			}
			for file := range state(t, d) {
				if _, old := before[file]; !old && spellElements(file) == spellElements(filepath.Join(d, disk)) {
					t.Errorf("%q, forbidden by %q, makes %q", path, glob, file)
				}
			}
		}
	}
	if codes["forbidden"] < rounds*paths {
		t.Errorf("%v: this says little", codes)
	}
	t.Log(codes)
}

// TestRulesAboveEveryRoot: rules above a directory hold however the directory is allowed, and named, and forbid it if
// they cannot be read.
func TestRulesAboveEveryRoot(t *testing.T) {
	inEachMode(t, func(t *testing.T, base string, allow func(dirs ...string) *rawClient) {
		writeAll(t, base, "AGENTS.md", "---\nforbidden: [\"project/{sub,other}/secret\"]\n---\n",
			"project/sub/secret/f", secretText, "project/sub/free", "free\n")
		root, above := filepath.Join(base, "project/sub"), filepath.Join(base, "project/AGENTS.md")
		for _, named := range []string{root, link(t, dir(t), "link", root)} {
			p := allow(named)
			p.read(named + "/free").ok()
			p.read(named + "/secret/f").refused("forbidden").says("../../AGENTS.md")
			must(t, os.Mkdir(above, 0o755))
			p.read(named + "/free").refused("forbidden").says("../AGENTS.md (cannot be read")
			must(t, os.Remove(above))
			p.read(named + "/free").ok()
		}
	})
}

// TestRulesBelowTopmostRoot: in the root of the file system, rules further down hold.
func TestRulesBelowTopmostRoot(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "AGENTS.md", "---\nforbidden: secret\n---\n", "secret", secretText, "free", "free\n")
	p := serve(t, "/")
	p.read(d + "/free").ok()
	p.read(d + "/secret").refused("forbidden")
}
