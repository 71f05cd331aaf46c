package hashfile

import (
	"strings"
	"testing"
)

// TestStaleAnchorsMapped: the refusal of an edit of a changed file says where each line is now, so that the edit can be
// made again with nothing but what the refusal holds.
func TestStaleAnchorsMapped(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	var lines []string
	for _, word := range strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi") {
		lines = append(lines, word+" {", "}")
	}
	path := write(t, d, "f", strings.Join(lines, "\n")+"\n")
	read := p.read(path).ok()
	first, last := read.anchor("eta {"), read.anchor("theta {")
	edit := arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(first, "ETA {"),
		arguments{"op": "delete", "anchor": last})}
	write(t, d, "f", "new\nmore\n"+strings.Join(lines, "\n")+"\n") // two lines before all
	r := p.call("edit_text_file", edit).refused("stale")
	moved, _ := r.All["anchors"].([]any)
	if len(moved) != 2 {
		t.Fatalf("%v: %s", r.All, r.Text)
	}
	var again []arguments
	for i, m := range moved {
		m := m.(map[string]any)
		if m["operation"] != float64(i+1) || !strings.Contains(r.Text, m["anchor"].(string)+" is "+m["now"].(string)) {
			t.Errorf("%v: %s", m, r.Text)
		}
		again = append(again, arguments{"op": []string{"replace", "delete"}[i], "anchor": m["now"]})
	}
	again[0]["content"] = "ETA {"
	if !strings.Contains(r.Text, `on_stale "rebase"`) {
		t.Errorf("it does not name the other way: %s", r.Text)
	}
	p.call("edit_text_file", arguments{"path": path, "file_hash": r.hash(), "operations": again}).ok()
	if got := content(t, path); !strings.Contains(got, "ETA {\n}\n}\n") || !strings.HasPrefix(got, "new\nmore\nalpha") {
		t.Errorf("%s", got)
	}
	// What is gone is said to be.
	read = p.read(path).ok()
	gone := read.anchor("mu {")
	write(t, d, "f", strings.Replace(content(t, path), "mu {", "nothing of the kind", 1))
	r = p.edit(path, read.hash(), replaceOp(gone, "x")).refused("stale")
	if !strings.Contains(r.Text, gone+" is gone or was changed") || strings.Contains(r.Text, "rebase") ||
		!strings.Contains(r.Text, "|nothing of the kind") {
		t.Error(r.Text)
	}
	// What was read by somebody else is not known, and the lines of now are shown.
	other := serve(t, d)
	r = other.edit(path, read.hash(), replaceOp(gone, "x")).refused("stale")
	r.says("|nothing of the kind")
}

// TestDoubledLine: new text that repeats the line behind it is applied, and said to.
func TestDoubledLine(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	path := write(t, d, "f", "func f() {\n\treturn\n}\n\nfunc g() {\n}\n")
	read := p.read(path).ok()
	edit := arguments{"path": path, "file_hash": read.hash(),
		"operations": ops(replaceOp(read.anchor("\treturn"), "\treturn 1\n}"))}
	r := p.call("edit_text_file", edit).ok()
	if !strings.Contains(r.Text, "[operation 1: line 3 repeats line 4, already there before; unless that is meant, delete ") {
		t.Fatal(r.Text)
	}
	_, anchor, _ := strings.Cut(strings.Split(r.Text, "\n")[1], "delete ")
	p.edit(path, r.hash(), arguments{"op": "delete", "anchor": strings.TrimSuffix(anchor, "]")}).ok()
	if got := content(t, path); got != "func f() {\n\treturn 1\n}\n\nfunc g() {\n}\n" {
		t.Errorf("%q", got)
	}
}

// TestSpellings: operations as source 004 prints them, and as models send them.
func TestSpellings(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	const before = "function hello() {\n  return \"world\";\n}\n"
	for name, test := range map[string]struct {
		operations any
		want       string
	}{
		"text":     {[]string{`replace 2:98 with '  return "hello";'`}, "function hello() {\n  return \"hello\";\n}\n"},
		"a range":  {[]string{"replace 1:d3..3:88 with <new content>"}, "<new content>\n"},
		"after":    {[]string{`insert_after 2:98 '  console.log("debug");'`}, "function hello() {\n  return \"world\";\n  console.log(\"debug\");\n}\n"},
		"before":   {[]string{"insert_before 1:d3 '// greeting function'"}, "// greeting function\n" + before},
		"delete":   {[]string{"delete 2:98"}, "function hello() {\n}\n"},
		"all":      {[]string{"delete 1:d3..3:88"}, ""},
		"one":      {replaceOp("2:98", "x"), "function hello() {\nx\n}\n"},
		"one text": {"delete 2:98", "function hello() {\n}\n"},
		"as JSON":  {`[{"op": "delete", "anchor": "2:98"}]`, "function hello() {\n}\n"},
		"lines":    {ops(arguments{"op": "replace", "anchor": "2:98", "lines": []string{"a", "b"}}), "function hello() {\na\nb\n}\n"},
		"append":   {ops(arguments{"op": "append", "content": "end"}), before + "end\n"},
		"prepend":  {ops(arguments{"op": "prepend", "content": "begin"}), "begin\n" + before},
		"anchors":  {ops(arguments{"op": "replace", "anchor": "1:d3..2:98", "content": "x"}), "x\n}\n"},
		"camel":    {ops(arguments{"op": "insertAfter", "anchor": "3:88|}", "content": "x"}), before + "x\n"},
	} {
		path := write(t, d, "f", before)
		read := p.read(path).ok()
		r := p.call("edit_text_file", arguments{"path": path, "file_hash": read.hash(), "operations": test.operations})
		if got := content(t, path); r.Error != "" || got != test.want {
			t.Errorf("%s: %q, %s", name, got, r.Text)
		}
	}
	for _, operations := range []any{"all", "replace 2:98", []any{}, []any{nil}, ops(arguments{"op": "change",
		"anchor": "2:98", "content": "x"}), ops(arguments{"op": "replace", "op_type": "delete", "anchor": "2:98"}),
		ops(arguments{"op": "replace", "anchor": "2:98", "content": "x", "lines": []string{"y"}}), ops(arguments{})} {
		path := write(t, d, "f", before)
		read := p.read(path).ok()
		r := p.call("edit_text_file", arguments{"path": path, "file_hash": read.hash(),
			"operations": operations}).refused("invalid")
		for _, word := range []string{"Go ", "struct", "unmarshal", "json:", "nil"} {
			if strings.Contains(r.Text, word) {
				t.Errorf("%v: %s", operations, r.Text)
			}
		}
	}
}

// TestAbbreviatedHashes: twelve digits stand for the file that was shown, more do, fewer and others do not.
func TestAbbreviatedHashes(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	path := write(t, d, "f", "one\n")
	whole := sum([]byte("one\n")).String()
	digits := strings.TrimPrefix(whole, "sha256:")
	edit := func(hash string) reply {
		write(t, d, "f", "one\n")
		return p.edit(path, hash, replaceOp("1:"+p.read(path).ok().anchor("one")[2:], "two"))
	}
	for _, hash := range []string{whole, digits, digits[:12], "sha256:" + digits[:12], "SHA256:" + digits[:20],
		strings.ToUpper(digits[:13])} {
		edit(hash).ok()
	}
	for _, hash := range []string{digits[:11], "sha256:" + digits + "0", "sha512:" + digits, "sha256:", "x" + digits[:12],
		digits[:12] + "-"} {
		edit(hash).refused("invalid")
	}
	for _, hash := range []string{digits[1:13], "000000000000", digits[:12] + digits[13:20]} {
		edit(hash).refused("stale")
	}
}
