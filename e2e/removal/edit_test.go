package removal

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// removal is one thing that is taken out of one file.
type removal struct {
	file string // as the table calls it
	path string // of the file
	// the members that lead to what is taken out; of the file itself "the file", "its contents" or "its end"
	at    []string
	how   string // what else was done, so that it is not found as mere corruption
	gone  bool   // the file is deleted; else data is what is left
	data  []byte
	owner string // the server or facet that it is about; "" of all
}

// pointer is what was taken out, as the table names it.
func (r removal) pointer() string { return strings.Join(r.at, "/") }

func (r removal) String() string {
	text := r.file + ": " + r.pointer()
	if r.how != "" {
		text += " (" + r.how + ")"
	}
	return text
}

// part is a way to say v without something: at leads to it.
type part struct {
	at   []string
	left any
}

// parts are all ways to take one member of an object, one element of an array or one line of
// a text out of v, and to empty one of them. They are generated from what the codecs wrote,
// so that a new member of a format is among them.
func parts(v any) (all []part) {
	put := func(at string, below []part, with func(any) any) {
		for _, p := range below {
			all = append(all, part{append([]string{at}, p.at...), with(p.left)})
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] == "" {
				continue // nothing is in it
			}
			without := maps.Clone(v)
			delete(without, name)
			all = append(all, part{[]string{name}, without})
			with := func(x any) any {
				c := maps.Clone(v)
				c[name] = x
				return c
			}
			if empty := emptied(v[name]); empty != nil {
				all = append(all, part{[]string{name, "empty"}, with(empty)})
			}
			put(name, parts(v[name]), with)
		}
	case []any:
		for i := range v {
			at := strconv.Itoa(i)
			all = append(all, part{[]string{at}, slices.Delete(slices.Clone(v), i, i+1)})
			put(at, parts(v[i]), func(x any) any {
				c := slices.Clone(v)
				c[i] = x
				return c
			})
		}
	case string:
		if lines := strings.SplitAfter(v, "\n"); len(lines) > 2 {
			for i := range lines {
				if lines[i] != "" {
					left := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
					all = append(all, part{[]string{"line " + strconv.Itoa(i+1)}, left})
				}
			}
		}
	}
	return all
}

// emptied is a value of the kind of v with nothing in it; nil if v is that, or no container.
func emptied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			return map[string]any{}
		}
	case []any:
		if len(v) > 0 {
			return []any{}
		}
	case string:
		if v != "" {
			return ""
		}
	}
	return nil
}

// removalsOf are all removals of and from one file.
func removalsOf(t *testing.T, file, path string, data []byte) (all []removal) {
	t.Helper()
	all = append(all, removal{file: file, path: path, at: []string{"the file"}, gone: true})
	if len(data) == 0 {
		return all
	}
	all = append(all, removal{file: file, path: path, at: []string{"its contents"}, data: []byte{}})
	add := func(at []string, how string, data []byte) {
		all = append(all, removal{file: file, path: path, at: at, how: how, data: data})
	}
	var tree map[string]any
	switch {
	case strings.HasSuffix(file, ".toml"):
		if err := toml.Unmarshal(data, &tree); err != nil {
			t.Fatal(err)
		}
		for _, p := range parts(tree) {
			text, err := toml.Marshal(p.left)
			if err != nil {
				t.Fatalf("%s: %v", p.at, err)
			}
			add(p.at, "", text)
		}
	case framed(data):
		all = append(all, lineRemovals(t, file, path, data)...)
	case decodeTree(data, &tree):
		for _, p := range parts(tree) {
			left, ok := p.left.(map[string]any)
			if !ok {
				t.Fatal(p.at)
			}
			add(p.at, "", encodeTree(t, left))
			if _, ok := tree["self"]; !ok || p.at[0] == "self" {
				continue
			}
			add(p.at, "sealed again", reseal(t, left))
			if _, ok := tree["lockfile_version"]; ok && p.at[0] != "lockfile_version" {
				add(p.at, "sealed again, the logs made to fit", reseal(t, fitLogs(t, left)))
				// else nothing is removed
				if held, ok := tree[p.at[0]].(map[string]any); ok && len(held) > 0 && p.at[0] != "logs" {
					older := maps.Clone(left)
					delete(older, "logs")
					older["lockfile_version"] = json.Number("1")
					add(p.at, "sealed again, as version 1", reseal(t, older))
				}
			}
			if _, ok := tree["approvals_version"]; ok && p.at[0] != "approvals_version" {
				older := map[string]any{"approvals_version": json.Number("1"), "project": left["project"],
					"servers": left["servers"]}
				add(p.at, "as version 1", encodeTree(t, older))
			}
		}
	case bytes.HasPrefix(data, []byte("hallmark-journal-v1 ")):
		var files []any
		_, body, _ := bytes.Cut(data, []byte("\n"))
		if err := json.Unmarshal(body, &files); err != nil {
			t.Fatal(err)
		}
		for _, p := range parts(files) {
			left, err := json.Marshal(p.left)
			if err != nil {
				t.Fatal(err)
			}
			add(p.at, "", slices.Concat(data[:len(data)-len(body)], left))
			add(p.at, "sealed again",
				append([]byte("hallmark-journal-v1 "+digest.FromBytes(left).String()+"\n"), left...))
		}
	default:
		add([]string{"its end"}, "", data[:len(data)-1])
		all = append(all, lineRemovals(t, file, path, data)...)
	}
	return all
}

// framed reports whether the first line is JSON, and other data follows it.
func framed(data []byte) bool {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	return bytes.HasPrefix(line, []byte("{")) && json.Valid(line) && len(bytes.TrimSpace(rest)) > 0
}

// lineRemovals are those of a file that is lines of text, or whose first line is JSON and is
// followed by other data: the state of a monitor, whose digest is made to fit.
func lineRemovals(t *testing.T, file, path string, data []byte) (all []removal) {
	t.Helper()
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	var tree map[string]any
	if len(rest) == 0 || !utf8.Valid(data) && !decodeTree(line, &tree) {
		return nil
	}
	add := func(at []string, how string, data []byte) {
		all = append(all, removal{file: file, path: path, at: at, how: how, data: data})
	}
	if tree == nil {
		for _, p := range parts(string(data)) {
			add(p.at, "", []byte(p.left.(string)))
		}
		return all
	}
	add([]string{"what follows"}, "", line)
	for _, p := range parts(tree) {
		left, err := json.Marshal(p.left)
		if err != nil {
			t.Fatal(err)
		}
		add(p.at, "", slices.Concat(left, []byte("\n"), rest))
		var w monitor.Wire
		if d := json.NewDecoder(bytes.NewReader(left)); d.Decode(&w) != nil {
			continue
		}
		w.Digest = ""
		blank, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		sealed := maps.Clone(p.left.(map[string]any))
		sealed["digest"] = monitor.StateDigest(blank, rest)
		if left, err = json.Marshal(sealed); err != nil {
			t.Fatal(err)
		}
		add(p.at, "sealed again", slices.Concat(left, []byte("\n"), rest))
	}
	return all
}

func decodeTree(data []byte, tree *map[string]any) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(tree) == nil && *tree != nil
}

func encodeTree(t *testing.T, tree map[string]any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(tree); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// reseal is tree with the digest of itself that its codec would write.
func reseal(t *testing.T, tree map[string]any) []byte {
	t.Helper()
	tree = maps.Clone(tree)
	delete(tree, "self")
	canonical, err := surface.Canonical(encodeTree(t, tree), surface.Limits{Depth: 32, Size: project.MaxLock}, "self")
	if err != nil {
		t.Fatal(err)
	}
	tree["self"] = digest.FromBytes(canonical).String()
	return encodeTree(t, tree)
}

// fitLogs is a lock whose logs are those of the proofs that it has left: whoever takes proofs
// out takes them out, too.
func fitLogs(t *testing.T, lock map[string]any) map[string]any {
	t.Helper()
	logs := map[string]any{}
	keep := func(registry, proof any) {
		text, _ := proof.(string)
		if name, ok := registry.(string); ok && text != "" {
			if was, ok := lock["logs"].(map[string]any); ok && was[name] != nil {
				logs[name] = was[name]
			}
		}
	}
	each := func(of string, do func(map[string]any)) {
		entries, _ := lock[of].(map[string]any)
		for _, entry := range entries {
			if entry, ok := entry.(map[string]any); ok {
				do(entry)
			}
		}
	}
	each("servers", func(entry map[string]any) {
		if record, ok := entry["record"].(map[string]any); ok {
			keep(record["registry"], record["proof"])
		}
	})
	each("facets", func(entry map[string]any) {
		if source, ok := entry["source"].(map[string]any); ok {
			keep(source["registry"], entry["proof"])
		}
	})
	lock = maps.Clone(lock)
	if lock["logs"] = logs; len(logs) == 0 {
		delete(lock, "logs")
	}
	return lock
}

// clocks are members that say when something was done: another time is no other claim.
var clocks = []string{"self", "at", "approved_at", "since", "created", "installedAt", "added"}

// alike reports whether two values say the same, but for when it was said.
func alike(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, func(x, y any) bool { return alike(x, y) }) ||
			ok && len(a) == len(b) && sameBut(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, alike)
	}
	return a == b
}

func sameBut(a, b map[string]any) bool {
	for name, x := range a {
		y, ok := b[name]
		if !ok || !slices.Contains(clocks, name) && !alike(x, y) {
			return false
		}
	}
	return true
}
