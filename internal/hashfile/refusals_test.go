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
	edit := ops(replaceOp(read.anchor("eta {"), "ETA {"), arguments{"op": "delete", "anchor": read.anchor("theta {")})
	write(t, d, "f", "new\nmore\n"+strings.Join(lines, "\n")+"\n") // two lines before all
	r := p.edit(path, read.hash(), edit...).refused("stale").says(`on_stale "rebase"`)
	moved, _ := r.All["anchors"].([]any)
	if len(moved) != len(edit) {
		t.Fatalf("%v: %s", r.All, r.Text)
	}
	for i, m := range moved {
		m := m.(map[string]any)
		if m["operation"] != float64(i+1) || m["anchor"] != edit[i]["anchor"] {
			t.Errorf("%v", m)
		}
		r.says(m["anchor"].(string) + " is " + m["now"].(string))
		edit[i]["anchor"] = m["now"]
	}
	p.edit(path, r.hash(), edit...).ok()
	if got := content(t, path); !strings.Contains(got, "ETA {\n}\n}\n") || !strings.HasPrefix(got, "new\nmore\nalpha") {
		t.Errorf("%s", got)
	}
	// What is gone is said to be.
	read = p.read(path).ok()
	gone := replaceOp(read.anchor("mu {"), "x")
	write(t, d, "f", strings.Replace(content(t, path), "mu {", "nothing of the kind", 1))
	p.edit(path, read.hash(), gone).refused("stale").not("rebase").
		says(read.anchor("mu {")+" is gone or was changed", "|nothing of the kind")
	p.rebase(path, read.hash(), replaceOp(read.anchor("xi {"), "XI {")).ok().says("[rebased onto")
	// What was read by somebody else is not known, and the lines of now are shown.
	serve(t, d).edit(path, read.hash(), gone).refused("stale").says("|nothing of the kind")
}

// TestSpellings: operations as source 004 prints them, and as models send them.
func TestSpellings(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	const before = "function hello() {\n  return \"world\";\n}\n"
	edit := func(operations any) reply {
		hash := sum([]byte(content(t, write(t, d, "f", before)))).String()
		return p.call("edit_text_file", arguments{"path": "f", "file_hash": hash, "operations": operations})
	}
	for name, test := range map[string]struct {
		operations any
		want       string
	}{
		"text":     {[]string{`replace 2:98 with '  return "hello";'`}, "function hello() {\n  return \"hello\";\n}\n"},
		"a range":  {[]string{"replace 1:d3..3:88 with <new content>"}, "<new content>\n"},
		"after":    {[]string{"insert_after 2:98 '  log()'"}, strings.Replace(before, ";\n", ";\n  log()\n", 1)},
		"before":   {[]string{"insert_before 1:d3 '// greeting function'"}, "// greeting function\n" + before},
		"delete":   {[]string{"delete 2:98"}, "function hello() {\n}\n"},
		"all":      {[]string{"delete 1:d3..3:88"}, ""},
		"one":      {replaceOp("2:98", "x"), "function hello() {\nx\n}\n"},
		"one text": {"delete 2:98", "function hello() {\n}\n"},
		"as JSON":  {`[{"op": "delete", "anchor": "2:98"}]`, "function hello() {\n}\n"},
		"lines": {ops(arguments{"op": "replace", "anchor": "2:98", "lines": []string{"a", "b"}}),
			"function hello() {\na\nb\n}\n"},
		"append":  {ops(arguments{"op": "append", "content": "end"}), before + "end\n"},
		"prepend": {ops(arguments{"op": "prepend", "content": "begin"}), "begin\n" + before},
		"anchors": {ops(replaceOp("1:d3..2:98", "x")), "x\n}\n"},
		"camel":   {ops(arguments{"op": "insertAfter", "anchor": "3:88|}", "content": "x"}), before + "x\n"},
	} {
		r := edit(test.operations)
		if got := content(t, d+"/f"); r.Error != "" || got != test.want {
			t.Errorf("%s: %q, %s", name, got, r.Text)
		}
	}
	for _, operations := range []any{"all", "replace 2:98", []any{}, []any{nil}, ops(arguments{}),
		ops(arguments{"op": "change", "anchor": "2:98", "content": "x"}),
		ops(arguments{"op": "replace", "op_type": "delete", "anchor": "2:98"}),
		ops(arguments{"op": "replace", "anchor": "2:98", "content": "x", "lines": []string{"y"}}),
	} {
		edit(operations).refused("invalid").not("Go ", "struct", "unmarshal", "json:", "nil")
	}
}

// TestAbbreviatedHashes: twelve digits stand for the file that was shown, more do, fewer and others do not. Which texts
// are hashes is shown in package engine.
func TestAbbreviatedHashes(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	digits := sum([]byte("one\n")).Hex()
	for hash, code := range map[string]string{
		"sha256:" + digits: "", digits[:12]: "", "SHA256:" + digits[:20]: "", strings.ToUpper(digits[:13]): "",
		digits[:11]: "invalid", "sha512:" + digits: "invalid", "sha256:": "invalid", digits[:12] + "-": "invalid",
		digits[1:13]: "stale", "000000000000": "stale", digits[:12] + digits[13:20]: "stale",
	} {
		write(t, d, "f", "one\n")
		p.edit("f", hash, replaceOp("1:"+tagOf("one"), "two")).refused(code)
	}
}
