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
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
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
			if _, ok := tree["lockfile_version"]; ok && p.at[0] != "lockfile_version" {
				if slices.Contains(p.at, "self") { // sealing writes it again
					continue
				}
				add(p.at, "sealed again", reseal(t, left))
				add(p.at, "sealed again, the logs made to fit", reseal(t, fitLogs(left)))
				if held, ok := tree[p.at[0]].(map[string]any); ok && len(held) > 0 { // else nothing is removed
					add(p.at, "sealed again, as version 1", reseal(t, asVersion1(left)))
				}
			} else if _, ok := tree["self"]; ok && p.at[0] != "self" {
				add(p.at, "sealed again", reseal(t, left))
			}
			if _, ok := tree["approvals_version"]; ok && p.at[0] != "approvals_version" && p.at[0] != "self" {
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

// reseal is tree with the digests of itself that its codec would write.
func reseal(t *testing.T, tree map[string]any) []byte {
	t.Helper()
	tree = copyOf(tree).(map[string]any)
	if err := hosttest.Seal(tree); err != nil {
		t.Fatal(err)
	}
	return encodeTree(t, tree)
}

// copyOf is a deep copy of decoded JSON.
func copyOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = copyOf(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = copyOf(value)
		}
		return out
	}
	return v
}

// eachLogged calls do with the part of each entry that has a proof and a log, of a copy of lock.
func eachLogged(lock map[string]any, do func(part map[string]any)) map[string]any {
	lock = copyOf(lock).(map[string]any)
	for _, of := range []string{"servers", "facets"} {
		entries, _ := lock[of].(map[string]any)
		for _, entry := range entries {
			entry, _ := entry.(map[string]any)
			if record, ok := entry["record"].(map[string]any); ok {
				entry = record
			}
			if entry != nil {
				do(entry)
			}
		}
	}
	return lock
}

// fitLogs is a lock whose logs are those of the proofs that it has left: whoever takes proofs
// out takes them out, too.
func fitLogs(lock map[string]any) map[string]any {
	return eachLogged(lock, func(part map[string]any) {
		if part["proof"] == nil {
			delete(part, "log")
		}
	})
}

// asVersion1 is a lock as one of version 1, which knows no logs.
func asVersion1(lock map[string]any) map[string]any {
	lock = eachLogged(lock, func(part map[string]any) { delete(part, "log") })
	for _, of := range []string{"servers", "facets"} {
		entries, _ := lock[of].(map[string]any)
		for _, entry := range entries {
			if entry, ok := entry.(map[string]any); ok {
				delete(entry, "self")
			}
		}
	}
	lock["lockfile_version"] = json.Number("1")
	return lock
}

// clocks are members that say when something was done: another time is no other claim.
var clocks = []string{"self", "at", "since", "created", "installedAt", "added"}

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
