package installed

import (
	"slices"
	"strings"
)

// toolbox is how a client limits an agent to some tools. The tools of a file are in the words of Claude
// Code; those that the client has no word for are left out, which is less and never more.
type toolbox struct {
	member string              // in which the client has them
	names  map[string]string   // the client's word for a tool
	write  func([]string) any  // the value for the client's words, sorted; nil: a list
	may    func([]string) bool // whether tools can be said at all; nil: if there is a word for one
	none   bool                // no tools at all can be said
}

// listTools are the names in a value of tools: a list, or a text with commas.
func listTools(v any) (names []string, ok bool) {
	switch v := v.(type) {
	case string:
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
		return names, true
	case []any:
		for _, item := range v {
			name, ok := item.(string)
			if !ok {
				return nil, false
			}
			names = append(names, name)
		}
		return names, true
	}
	return nil, false
}

// express is the client's member for tools of a file, and the tools that it has no word for. ok is false
// if the client cannot be told.
func (t *toolbox) express(v any) (m member, left []string, ok bool) {
	if t == nil {
		return m, nil, false
	}
	names, ok := listTools(v)
	if !ok || t.may != nil && !t.may(names) {
		return m, nil, false
	}
	words := []string{}
	for _, name := range names {
		word, known := t.names[name]
		switch {
		case !known:
			left = append(left, name)
		case !slices.Contains(words, word):
			words = append(words, word)
		}
	}
	if len(words) == 0 && !t.none {
		return m, nil, false
	}
	slices.Sort(words)
	m = member{name: t.member, value: toList(words)}
	if t.write != nil {
		m.value = t.write(words)
	}
	return m, left, true
}

// toList is a list of texts as a value.
func toList(words []string) any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}

// readOnly are the tools of Claude Code that change nothing.
var readOnly = []string{"Read", "NotebookRead", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "TodoWrite"}

// onlyReads reports whether tools change nothing.
func onlyReads(names []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(readOnly, n) })
}

// readOnlyAs is a toolbox for a client that knows agents which change nothing, and no other limits.
func readOnlyAs(name string, value any) *toolbox {
	return &toolbox{member: name, may: onlyReads, none: true, names: identity(readOnly),
		write: func([]string) any { return value }}
}

// identity maps each word to itself.
func identity(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		out[w] = w
	}
	return out
}

// rename is a map from all words of a group to one: "read: Read NotebookRead".
func rename(groups ...string) map[string]string {
	out := map[string]string{}
	for _, group := range groups {
		to, from, _ := strings.Cut(group, ": ")
		for _, word := range strings.Fields(from) {
			out[word] = to
		}
	}
	return out
}
