package place

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// readMapping reads the members of front matter.
func (r *rulesReader) readMapping(root *yaml.Node) error {
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		list := r.set.listOf(key)
		switch {
		case list == nil && isSuspect(key):
			return r.errorf(key.Line, "%s is not understood; %s", Show(key.Value), rulesAdvice)
		case list == nil:
			for _, n := range root.Content[i : i+2] {
				if below := findSuspect(n); below != nil {
					return r.errorf(below.Line, "%s stands below another key; %s", Show(below.Value), rulesAdvice)
				}
			}
		case r.seen[list]:
			return r.errorf(key.Line, "%s stands twice; join the two", key.Value)
		default:
			r.seen[list] = true
			if err := r.readList(list, key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// listOf returns the list that a key fills, nil if it is none of the three names. Letter case does not count, and "-"
// stands for "_" as well.
func (s *ruleSet) listOf(key *yaml.Node) *[]Glob {
	if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
		return nil
	}
	switch strings.ToLower(strings.ReplaceAll(key.Value, "-", "_")) {
	case "forbidden":
		return &s.forbidden
	case "read_only", "readonly":
		return &s.readOnly
	case "ignore":
		return &s.ignore
	}
	return nil
}

// findSuspect returns the first key in n that [isSuspect], nil if there is none. It need not follow aliases or merges:
// what they stand for is in the same document.
func findSuspect(n *yaml.Node) *yaml.Node {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && isSuspect(c) {
			return c
		}
		if found := findSuspect(c); found != nil {
			return found
		}
	}
	return nil
}

// isSuspect reports whether a key resembles one of the three names, or may turn out to be one: an alias, or a key with
// a tag.
func isSuspect(key *yaml.Node) bool {
	tagged := key.Style&yaml.TaggedStyle != 0 && key.ShortTag() != "!!str"
	return key.Kind == yaml.AliasNode || tagged || resembles(key.Value)
}

// resembles reports whether a key differs from one of the three names in two letters at most, or continues one of
// them in three words at most, as forbidden_paths and "read only files" do, or merges what may hold one of them.
func resembles(key string) bool {
	if key == "<<" {
		return true
	}
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(key))
	for _, name := range []string{"forbidden", "readonly", "ignore"} {
		if isNear([]rune(plain), []rune(name), 2) {
			return true
		}
	}
	return len(strings.Fields(key)) <= 3 && (strings.HasPrefix(plain, "forbid") || strings.HasPrefix(plain, "readonly"))
}

// isNear reports whether a becomes b by inserting, removing or changing n letters at most.
func isNear(a, b []rune, n int) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a)+len(b) <= n
	case n == 0:
		return false
	}
	return isNear(a[1:], b[1:], n-1) || isNear(a[1:], b, n-1) || isNear(a, b[1:], n-1)
}

// readList reads the value of one of the three names: a list of strings, or one string.
func (r *rulesReader) readList(into *[]Glob, key, value *yaml.Node) error {
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Value == "":
		return r.errorf(key.Line, "%s has no value; write [] for none", key.Value)
	case value.Kind == yaml.SequenceNode && value.ShortTag() == "!!seq":
		for _, item := range value.Content {
			quoted := item.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
			if err := r.addGlob(into, key.Value, item, quoted); err != nil {
				return err
			}
		}
		return nil
	}
	return r.addGlob(into, key.Value, value, false)
}

// oldWord matches what readers of older YAML take for true or false.
var oldWord = spelling.Form(`^(?i:yes|no|on|off)$`)

// otherKinds are the nodes of YAML that are no strings.
var otherKinds = map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list",
	yaml.AliasNode: "an alias"}

// addGlob adds the glob that n holds. One with braces stands for itself, with the braces as letters, and for what they
// expand to: a rule that could mean either forbids both. Blanks says whether it may have blanks.
func (r *rulesReader) addGlob(into *[]Glob, name string, n *yaml.Node, blanks bool) error {
	switch kind, other := otherKinds[n.Kind]; {
	case other:
		return r.errorf(n.Line, "%s holds %s, which is not understood; write a list of globs, in quotes", name, kind)
	case n.ShortTag() != "!!str" || n.Style == 0 && oldWord().MatchString(n.Value):
		return r.errorf(n.Line,
			`%s holds %s, which YAML does not take for text; put it in quotes if it is a name, and write `+
				`["**"] for all`, name, Show(n.Value))
	}
	readings, err := expandBraces(n.Value)
	if err != nil {
		return r.errorf(n.Line, "%s holds %s, which is no glob: %w", name, Show(n.Value), err)
	}
	if r.set.expansions += len(readings); r.set.expansions > maxFileExpansions {
		return r.errorf(n.Line, "the globs with braces stand for more than %d", maxFileExpansions)
	}
	for _, reading := range append(readings, n.Value) {
		fault := faultOf(reading, blanks)
		g, ok := newGlob(reading, true)
		switch {
		case ok && fault == "":
			*into = append(*into, g)
			for _, other := range r.set.otherReadings(reading) {
				if g, ok := newGlob(other, true); ok {
					*into = append(*into, g)
				}
			}
			continue
		case fault == "":
			fault = "must be a path relative to the directory of the file, with sets in brackets that are closed " +
				"and known"
		}
		if reading != n.Value {
			fault = `stands for "` + reading + `", which ` + fault
		}
		return r.errorf(n.Line, "%s holds %s, which is no glob: it %s", name, Show(n.Value), Show(fault))
	}
	return nil
}

// permission matches a glob in the form of an agent's permissions, as Read(.env), its group 1.
var permission = spelling.Form(`^[A-Za-z]+\((.*)\)$`)

// otherReadings returns what a glob may mean as well, to the one who wrote it: names with brackets, as frameworks have
// them for parts of a URL, a path with the separators of Windows, with a comment behind it, in the form of permissions,
// or from the root of the file system.
func (s *ruleSet) otherReadings(glob string) (all []string) {
	if strings.Contains(glob, "[") {
		all = append(all, strings.NewReplacer("[", `\[`, "]", `\]`).Replace(glob))
	}
	if windows := strings.NewReplacer(`\*`, "/*", `\?`, "/?", `\[`, "/[", `\\`, "/").Replace(glob); windows != glob {
		all = append(all, windows)
	}
	if before, _, ok := strings.Cut(glob, " #"); ok {
		all = append(all, strings.TrimSpace(before))
	}
	if m := permission().FindStringSubmatch(glob); m != nil {
		all = append(all, m[1])
	}
	if below, ok := strings.CutPrefix(glob, s.real+"/"); ok && s.real != "" {
		all = append(all, "/"+below)
	}
	return all
}

// elsewhere matches a path that begins with a drive, with the scheme of a URI or with a variable.
var elsewhere = spelling.Form(`^(?:[A-Za-z][A-Za-z0-9+.-]*:|\$[A-Z_]+(?:/|$))`)

// faultOf returns why a glob is none, or most likely means something else than it says, and what to write instead.
func faultOf(glob string, blanks bool) string {
	switch {
	case glob == "":
		return "is empty"
	case strings.ContainsFunc(glob, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }):
		return "has a character that is not seen; write it in one line, without that character"
	// which git drops
	case slices.ContainsFunc(strings.Split(glob, "/"), func(e string) bool { return strings.TrimSpace(e) != e }):
		return "has a name that begins or ends with a blank; take that away, and give each glob an item in a list"
	case glob[0] == '!':
		return "begins with !; rules cannot allow what others forbid"
	case glob[0] == '~' || elsewhere().MatchString(glob):
		return "must be a path relative to the directory of the file; write [~], [:] or [$] for that very character"
	}
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '\\':
			if i++; i == len(glob) || !strings.ContainsRune(`*?[]{}!#\,;| `, rune(glob[i])) {
				return "has a backslash; write / between the names of a path"
			}
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ';' || c == '|' || c == ',' && depth == 0:
			return `has a "` + string(c) + `"; give each glob an item in a list, as [a, b], or write \` + string(c) +
				" for that very character"
		case c == ' ' && !blanks:
			return "has a blank; give each glob an item in a list, as [a, b], or put a name with a blank there " +
				"in quotes"
		}
	}
	return ""
}
