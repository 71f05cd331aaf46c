package hashfile

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

const rulesText = "---\nname: agents\nforbidden:\n  - secrets/**\n  - \"*.pem\"\nread_only: [go.sum, 'vendor/']\n" +
	"ignore: dist # built\n---\n# Rules\n"

// ruledTree makes a project with rules.
func ruledTree(t *testing.T) (string, *peer) {
	d := dir(t)
	writeAll(t, d, "AGENTS.md", rulesText, "secrets/key", "SECRET\n", "secrets/deep/key", "SECRET\n",
		"src/id.pem", "SECRET\n", "src/a", "a\n", "go.sum", "sum\n", "vendor/v", "v\n", "dist/out", "a\n")
	return d, serve(t, d)
}

func TestRules(t *testing.T) {
	d, p := ruledTree(t)
	for _, path := range []string{"secrets", "secrets/key", "secrets/none", "secrets/deep/key", "secrets/no/such/dir",
		"src/id.pem", "src/none.pem"} {
		allRefused("forbidden", slices.Collect(maps.Values(p.tools(filepath.Join(d, path))))...)
	}
	for _, path := range []string{"go.sum", "vendor/v"} {
		hash := p.read(path).ok().hash()
		allRefused("read_only", p.edit(path, hash, replaceOp("1:00", "x")), p.write(path, "x", hash),
			p.move(path, "elsewhere"))
	}
	allRefused("read_only", p.write("vendor/new", "x"), p.move("src/a", "vendor/a"), p.mkdir("vendor/new"))
	// What is ignored is left out, and can be read by name.
	if tree := p.tree(".").ok(); tree.Text != "AGENTS.md\ngo.sum\nsrc/\nsrc/a\nvendor/\nvendor/v\n"+
		"[not listed: forbidden by AGENTS.md]\n[not listed: ignored by AGENTS.md: dist/]\n" {
		t.Errorf("%q", tree.Text)
	}
	if list := p.list("src").ok(); list.Text != "[FILE] a\n" {
		t.Errorf("%q", list.Text)
	}
	p.search("a|SECRET").ok().not("SECRET\n", "dist/out")
	p.read("dist/out").ok()
	p.replace("src/a", "a", "b").ok()
}

// TestRulesBypasses tries what got around the rules of the program of source 004.
func TestRulesBypasses(t *testing.T) {
	d, p := ruledTree(t)
	forbidden := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			p.read(path).refused("forbidden")
		}
	}
	t.Run("dots", func(*testing.T) {
		forbidden(d+"/src/../secrets/key", d+"/src/./../secrets//key", "src/../../"+filepath.Base(d)+"/secrets/key")
	})
	t.Run("links", func(t *testing.T) {
		for name, to := range map[string]string{"l1": "secrets/key", "l2": "secrets", "l3": d + "/secrets",
			"l4": "src/../secrets"} {
			if err := os.Symlink(to, filepath.Join(d, name)); err != nil {
				t.Skip(err)
			}
		}
		forbidden("l1", "l2/key", "l3/key", "l4/key")
		allRefused("forbidden", p.write("l2/new", "x"), p.move("src/a", "l2/a"))
	})
	t.Run("case", func(*testing.T) {
		forbidden("SECRETS/key", "Secrets/KEY", "src/ID.PEM")
		p.write("GO.SUM", "x").refused("read_only")
	})
	t.Run("moving a directory out", func(t *testing.T) {
		p.move("secrets", "public").refused("forbidden")
		p.move("src", "public").refused("forbidden") // it holds id.pem
		p.move("vendor", "mine").refused("read_only")
		write(t, d, "plain/x", "x\n")
		p.move("plain", "secrets").refused("forbidden")
		write(t, d, "plain/y.pem2", "x\n")
		p.move("plain/y.pem2", "plain/y.pem").refused("forbidden")
		p.move("plain", "plain2").ok()
	})
	t.Run("writing AGENTS.md", func(t *testing.T) {
		read := p.read("AGENTS.md").ok()
		drop := arguments{"op": "delete", "anchor": read.anchor("forbidden:")}
		allRefused("read_only", p.edit("AGENTS.md", read.hash(), drop), p.write("AGENTS.md", "", read.hash()),
			p.move("AGENTS.md", "old.md"), p.write("Agents.MD", ""))
		if runtime.GOOS != "windows" {
			os.Symlink("AGENTS.md", filepath.Join(d, "alias"))
			p.write("alias", "", read.hash()).refused("read_only")
		}
		// A nearer one is welcome, as it can only tighten.
		p.write("src/AGENTS.md", "---\nforbidden: []\nread_only: [a]\n---\n").ok()
		forbidden("src/id.pem")
		allRefused("read_only", p.write("src/a", "x", read.hash()), p.move("src", "src2"))
	})
	t.Run("a directory below the allowed one", func(t *testing.T) {
		below := serve(t, filepath.Join(d, "src"))
		// the rules above the allowed directory hold, and say nothing of this file
		below.read("a").ok()
	})
	if content(t, filepath.Join(d, "secrets/key")) != "SECRET\n" ||
		content(t, filepath.Join(d, "AGENTS.md")) != rulesText {
		t.Error("something forbidden is changed")
	}
}

// TestRulesFailClosed: rules that are not understood as they were meant forbid, whatever hides
// them, and front matter of somebody else, or none, does nothing.
func TestRulesFailClosed(t *testing.T) {
	utf16 := func(order binary.AppendByteOrder, text string) (s string) {
		for _, c := range utf16.Encode([]rune(text)) {
			s = string(order.AppendUint16([]byte(s), c))
		}
		return s
	}
	const rules = "---\nforbidden: [a/secrets/**]\n---\n"
	for _, x := range []struct{ name, text, says string }{
		// They are read. Which values are lists of globs is shown in package place.
		{"plain", rules, "AGENTS.md"},
		{"mark", "\ufeff" + rules, ""},
		{"mark and blank line", "\ufeff \n\ufeff" + rules, ""},
		{"line ends of CR", strings.ReplaceAll(rules, "\n", "\r"), ""},
		{"blank lines before", "\n \r\n\t\n" + rules, ""},
		{"blank before", " " + rules, ""},
		{"comment of HTML before", "<!-- (c)\n -->\n" + rules, ""},
		{"letter case", "---\nForbidden: [A/Secrets/**]\n---\n", ""},
		{"quoted key", "---\n'forbidden' : [a/secrets/**]\n---\n", ""},
		{"empty front matter before", "---\n" + rules, ""},
		{"class of POSIX", "---\nforbidden: ['a/[[:alpha:]]*/k']\n---\n", ""},
		{"class in the other letter case", "---\nforbidden: ['a/[[:upper:]]*/k']\n---\n", ""},
		{"negated set", "---\nforbidden: ['a/[!b]*/k']\n---\n", ""},
		{"negated set of the other letter case", "---\nforbidden: ['a/[!A-Z]*/k']\n---\n", ""},
		{"range over letter cases", "---\nforbidden: ['a/[Z-z]ecrets/k']\n---\n", ""},
		{"three stars", "---\nforbidden: ['a/***/k']\n---\n", ""},
		{"apostrophes", "---\nforbidden: [it's, a/secrets, b's]\n---\n", ""},
		{"tagged", "---\n!!str forbidden: [a/secrets/**]\n---\n", ""},
		{"explicit key", "---\n? forbidden\n: [a/secrets/**]\n---\n", ""},
		{"escaped key", "---\n\"forb\\x69dden\": [a/secrets/**]\n---\n", ""},
		// They cannot be.
		{"dots at the end", "---\nforbidden: [a/secrets/**]\n...\n",
			"line 2: forbidden cannot be read: its front matter has no end"},
		{"comment after the fences", "--- # rules\nforbidden: [a/secrets/**]\n--- # end\n",
			"line 2: forbidden cannot be read: front matter must begin"},
		{"UTF-16, little end", utf16(binary.LittleEndian, "\ufeff"+rules), "line 1: it is not text in UTF-8"},
		{"UTF-16, big end", utf16(binary.BigEndian, "\ufeff"+rules), "line 1: it is not text in UTF-8"},
		{"UTF-16 without a mark", utf16(binary.LittleEndian, rules), "line 1: it is not text in UTF-8"},
		{"Latin-1", "---\nforbidden: [a/secrets/**]\nname: \xe9\n---\n", "line 3: it is not text in UTF-8"},
		{"no value", "---\nname: x\nforbidden:\n---\n", "line 3: forbidden has no value"},
		{"no value, and a key", "---\nforbidden: # a/secrets\nname: x\n---\n", "line 2: forbidden has no value"},
		{"more than a value", "---\nforbidden: x\n  a/secrets\n---\n", "line 2: forbidden holds x a/secrets"},
		{"items after a value", "---\nforbidden: [x]\n- a/secrets\n---\n", "line 2: forbidden cannot be read: it is not YAML"},
		{"no class", "---\nforbidden: ['a/[[:letter:]]*']\n---\n", "line 2: forbidden holds"},
		{"no end of a set", "---\nforbidden: ['a/[s']\n---\n", "line 2: forbidden holds"},
		{"misspelled", "---\nname: x\nforbiden: [a/secrets/**]\n---\n", "line 3: forbiden is not understood"},
		{"shorter", "---\nforbid: [a/secrets/**]\n---\n", "line 2: "},
		{"longer", "---\nforbidden_paths: [a/secrets/**]\n---\n", "line 2: "},
		{"two words", "---\nread only: [a/secrets/**]\n---\n", "line 2: "},
		{"hidden character", "---\nforb\u200bidden: [a/secrets/**]\n---\n", "line 2: "},
		{"below another key", "---\nrules:\n  forbidden: [a/secrets/**]\n---\n",
			"line 3: forbidden stands below another key"},
		{"below another key by a tab", "---\nrules:\n\tforbidden: [a/secrets/**]\n---\n", "line 3: "},
		{"in a list", "---\nrules:\n- forbidden: [a/secrets/**]\n---\n", "line 3: "},
		{"in braces", "---\nrules: {x: y, \"forbidden\": [a/secrets/**]}\n---\n", "line 2: "},
		{"in braces in braces", "---\nx: {rules: {forbidden: [a/secrets/**]}}\n---\n", "line 2: "},
		{"alias for a key", "---\nx: &k forbidden\n*k : [a/secrets/**]\n---\n", "line 3: "},
		{"anchor", "---\nx: &x {forbidden: [a/secrets/**]}\n<<: *x\n---\n", "line 2: "},
		{"TOML", "+++\nforbidden = [\"a/secrets/**\"]\n+++\n", "line 2: "},
		{"TOML in fences", "---\nforbidden = [\"a/secrets/**\"]\n---\n", "line 2: "},
		{"more dashes", "\n----\nforbidden: [a/secrets/**]\n----\n", "line 3: "},
		{"in the line of the fence", "--- {forbidden: [a/secrets/**]}\n---\n", "line 1: "},
		{"line end that is none", "---\u2028forbidden: [a/secrets/**]\u2028---\n", "line 1: "},
		{"no end", "---\nforbidden: [a/secrets/**]\n", "its front matter has no end"},
	} {
		d := dir(t)
		writeAll(t, d, "sub/AGENTS.md", x.text, "sub/a/secrets/k", "SECRET\n", "f", "x\n")
		p := serve(t, d)
		p.read("f").ok() // no other directory
		r := p.read("sub/a/secrets/k")
		if r.Error != "forbidden" || !strings.Contains(r.Text, "AGENTS.md") || !strings.Contains(r.Text, x.says) ||
			x.says == "" && strings.Contains(r.Text, "line ") {
			t.Errorf("%s: %q %s, want %s", x.name, r.Error, r.Text, x.says)
		}
	}
}
