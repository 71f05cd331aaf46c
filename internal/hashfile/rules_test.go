package hashfile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
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
		for tool, r := range p.tools(filepath.Join(d, path)) {
			if r.Error != "forbidden" {
				t.Errorf("%s %s: %q %s", tool, path, r.Error, r.Text)
			}
		}
	}
	for _, path := range []string{"go.sum", "vendor/v"} {
		read := p.read(path).ok()
		p.call("edit_text_file",
			arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp("1:00", "x"))}).refused("read_only")
		p.write(path, "x", read.hash()).refused("read_only")
		p.move(path, "elsewhere").refused("read_only")
	}
	p.write("vendor/new", "x").refused("read_only")
	p.move("src/a", "vendor/a").refused("read_only")
	p.mkdir("vendor/new").refused("read_only")
	// What is ignored is left out, and can be read by name.
	tree := p.tree(".").ok()
	if tree.Text != "AGENTS.md\ngo.sum\nsrc/\nsrc/a\nvendor/\nvendor/v\n[not listed: forbidden by AGENTS.md]\n"+
		"[not listed: ignored by AGENTS.md: dist/]\n" {
		t.Errorf("%q", tree.Text)
	}
	if list := p.list("src").ok(); list.Text != "[FILE] a\n" {
		t.Errorf("%q", list.Text)
	}
	if r := p.search("a|SECRET").ok(); strings.Contains(r.Text, "SECRET") ||
		strings.Contains(r.Text, "dist/out") {
		t.Errorf("%s", r.Text)
	}
	p.read("dist/out").ok()
	p.edit("src/a", p.call("read_text_file", arguments{"path": "src/a"}).hash(), replaceOp(p.read("src/a").anchor("a"), "b")).ok()
}

// TestRulesBypasses tries what got around the rules of the program of source 004.
func TestRulesBypasses(t *testing.T) {
	d, p := ruledTree(t)
	refused := func(path, code string) {
		t.Helper()
		p.read(path).refused(code)
	}
	t.Run("dots", func(t *testing.T) {
		refused(d+"/src/../secrets/key", "forbidden")
		refused(d+"/src/./../secrets//key", "forbidden")
		refused("src/../../"+filepath.Base(d)+"/secrets/key", "forbidden")
	})
	t.Run("links", func(t *testing.T) {
		for name, to := range map[string]string{"l1": "secrets/key", "l2": "secrets", "l3": d + "/secrets",
			"l4": "src/../secrets"} {
			if err := os.Symlink(to, filepath.Join(d, name)); err != nil {
				t.Skip(err)
			}
		}
		refused("l1", "forbidden")
		refused("l2/key", "forbidden")
		refused("l3/key", "forbidden")
		refused("l4/key", "forbidden")
		p.write("l2/new", "x").refused("forbidden")
		p.move("src/a", "l2/a").refused("forbidden")
	})
	t.Run("case", func(t *testing.T) {
		refused("SECRETS/key", "forbidden")
		refused("Secrets/KEY", "forbidden")
		refused("src/ID.PEM", "forbidden")
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
		p.edit("AGENTS.md", read.hash(), arguments{"op": "delete", "anchor": read.anchor("forbidden:")}).refused("read_only")
		p.write("AGENTS.md", "", read.hash()).refused("read_only")
		p.move("AGENTS.md", "old.md").refused("read_only")
		p.write("Agents.MD", "").refused("read_only")
		if runtime.GOOS != "windows" {
			os.Symlink("AGENTS.md", filepath.Join(d, "alias"))
			p.write("alias", "", read.hash()).refused("read_only")
		}
		// A nearer one is welcome, as it can only tighten.
		p.write("src/AGENTS.md", "---\nforbidden: []\nread_only: [a]\n---\n").ok()
		refused("src/id.pem", "forbidden")
		p.write("src/a", "x", read.hash()).refused("read_only")
		p.move("src", "src2").refused("read_only")
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
		// They are read.
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
		{"null", "---\nforbidden: ~\n---\n", "line 2: forbidden holds"},
		{"more than a value", "---\nforbidden: x\n  a/secrets\n---\n", "line 2: forbidden holds x a/secrets"},
		{"items after a value", "---\nforbidden: [x]\n- a/secrets\n---\n", "line 2: forbidden cannot be read: it is not YAML"},
		{"list in a list", "---\nforbidden:\n  - - a/secrets\n---\n", "line 3: forbidden holds"},
		{"mapping in a list", "---\nforbidden:\n  - a/secrets: x\n---\n", "line 3: forbidden holds"},
		{"blank at the end of a glob", "---\nforbidden: ['a/secrets/ ']\n---\n", "line 2: forbidden holds"},
		{"what is not seen in a glob", "---\nforbidden: ['a/sec\u200brets']\n---\n", "line 2: forbidden holds"},
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
		write(t, d, "AGENTS.md", x.text)
		write(t, d, "a/secrets/k", "SECRET\n")
		r := serve(t, d).read("a/secrets/k")
		if r.Error != "forbidden" || !strings.Contains(r.Text, "AGENTS.md") || !strings.Contains(r.Text, x.says) ||
			x.says == "" && strings.Contains(r.Text, "line ") {
			t.Errorf("%s: %q %s, want %s", x.name, r.Error, r.Text, x.says)
		}
	}
}

// TestRulesNotUnderstood: rules that are not understood forbid their directory, and no other.
func TestRulesNotUnderstood(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "sub/AGENTS.md", "---\nforbidden: {x: y}\n---\n", "sub/f", "x\n", "f", "x\n")
	p := serve(t, d)
	p.read("sub/f").refused("forbidden").says("not understood")
	p.read("f").ok()
}
