package place

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The spellings that TestYAMLSpellings joins. In a key %s is one of our names; in a wrapper %s is a member whose value
// is put after its key; %[1]s is the key, and %[2]s the value.
var (
	yamlKeys = []string{
		"%s: V", "%s : V", "%s:\tV", "\"%s\": V", "'%s': V", "\"%s\"  : V", "!!str %s: V", "! %s: V", "&a %s: V",
		"&a !!str %s: V", "!!str &a '%s': V", "!<tag:yaml.org,2002:str> %s: V", "!local %s: V", "ESC: V", "!!str ESC: V",
		"HEX: V", "!!binary B64: V", "!!binary \"B64\": V", "!<tag:yaml.org,2002:b%%69nary> B64: V",
		"? %s\n: V", "?  %s # c\n: V", "?\t%s\n: V", "? \"%s\"\n: V", "? '%s'\n# c\n\n: V", "? |-\n  %s\n: V",
		"? >-\n  %s\n: V", "?\n  %s\n: V", "? # c\n  %s\n: V", "? &a %s\n: V", "? !!str %s\n: V", "? ESC\n: V",
		"? HEX\n: V", "? !!binary B64\n: V", "? \"FOLD\"\n: V", "? |-\n  %s\n:\n  V", "? x\n: y\n? %s\n: V",
		"x: &k %s\n*k : V", "x: &k %s\n*k: V", "x: &k %s\n? *k\n: V", "x: &k ESC\n*k : V", "x: [&k %s]\n*k : V",
		"b: &b\n  %s: V\n<<: *b", "b: &b {%s: V}\n<<: *b", "<<: {%s: V}", "\"<<\": {%s: V}", "!!merge x: {%s: V}",
		"<<: [{%s: V}]", "b: &b {ESC: V}\n<<: *b", "? <<\n: {%s: V}", "b: &b\n  ? %s\n  : V\n<<: *b",
		"{%s: V}", "{ x: y, %s: V }", "{\n  %s: V\n}", "{\n%s\n: V\n}", "{%s\n  : V}", "{x: y, # c\n  %s # c\n  : V}",
		"{\"%s\":V}", "{ESC: V}", "{? %s : V}", "{?\n %s\n : V}", "{x: &k %s, *k : V}", "!!map {%s: V}",
		"!!map\n%s: V", "&m\n%s: V", "%s: &v V", "%s: !!seq V", "%s: # c\n  V", "%s:\n  V", "%s:\n\n\n  # c\n  V",
		"v: &v V\n%s: *v", "v: &v V\n%s : *v # c", "%s: V # c", "%s: V\nx: y", "%s: [other]\n%[1]s: V", "x: y\n%s: V",
		"%s: []\n'%[1]s': V", "x:\n  %s: V", "x:\n- %s: V", "- %s: V", "-\n  %s: V", "- - %s: V", "- ? %s\n  : V",
		"x: {y: {%s: V}}", "x: [{%s: V}]", "x: [%s: V]", "x: [y, %s: V]", "x: {\n\"%s\"\n: V}", "x: {ESC: V}",
		"x: {a: b, ESC\n: V}", "x: {FOLD: V}", "x: {? \"FOLD\" : V}", "x: &k %s\ny: {*k : V}", "x: [*z : 1, &z %s]\n%[1]s: V",
		"? x\n: %s: V", "? [x]\n: %s: V", "x: |\n  text\n%s: V", "x: \"text\n  more\"\n%s: V", "x: 'it''s'\n%s: V",
		"x: y\u0085%s: V", "x: y\u2028%s: V", "x: {%s\u0085: V}", "x: {%s\u2028  : V}", "  %s: V", "  x: y\n  %s: V",
		"# c\n%s: V", "#\n\n%s: V", "x: # ---\n%s: V", "x:\n  - ---\n%s: V", "x: |\n ---\n%s: V", "x: |\n ...\n%s: V",
		"\t\n%s: V", "x: \"\\\"\"\n%s: V", "x: [\n]\n%s: V", "x: {\n}\n%s: V", "? [a,\nb]\n: c\n%s: V",
		"x: !!binary YQ==\n%s: V", "%s:\u00a0V", "x: {%s: V, %[1]s: V}", "x: !!set {? %s}\n%[1]s: V", "!!omap [%s: V]",
		"!!set\n? x\n%s: V", "x: [%s\n: V]", "x: [ESC : V]", "x: [? %s\n : V]", "x: {&a %s\n : V}", "x: {!!str %s\n : V}",
		"x: {!!str\n%s: V}", "x: {&a\n %s : V}", "x: {# c\n%s\n# c\n\n: V}",
	}
	yamlValues = []string{
		"[secret/a]", "[ secret/a , other ]", "['secret/a']", "[\"secret/a\"]", "[\"secret\\x2fa\"]", "[other,\n  secret/a]",
		"[other, # c\n  secret/a]", "[\n  secret/a\n  ]", "secret/a", "'secret/a'", "\"secret/a\"", "\"secret\\/a\"",
		"\n  - secret/a", "\n  - other\n  - secret/a", "\n  - 'other'\n\n  # c\n  - \"secret/a\"", "\n  -\n    secret/a",
		"\n  - >-\n    secret/a", "\n  - |-\n    secret/a", ">-\n  secret/a", "|-\n  secret/a", "\n  - &i secret/a",
		"\n  - !!str secret/a", "[!!str secret/a]", "[&i secret/a, *i]", "\n  - other\n  - [secret/a]", "{secret/a: x}",
		"\n  secret/a: x", "\n  ? secret/a", "{secret/a, other}", "[{secret/a: x}]", "[secret/a: x]", "[? secret/a]",
		"!!set {secret/a}", "\n  - other\n   - more\n  - secret/a", "[secret/a]  # c", "[secret/a, ]", "\n  - secret/a:\tx",
		"\n  - secret/a # c", "\n  - \"secret/\\\n    a\"", "!!binary c2VjcmV0L2E=", "[!!binary c2VjcmV0L2E=]",
		"\n   - other\n   - secret/a", "\n  - 'secret/a' # c", "[other # c\n  , secret/a]",
	}
	yamlFiles = []string{
		"---\n%s\n---\n", "---\n%s\n...\n", "--- \n%s\n---\n# T\n", "--- # c\n%s\n--- # c\n", "\ufeff---\n%s\n---\n",
		"\n\n---\n%s\n---\n", "---\n---\n%s\n---\n", "---\n# c\n---\n%s\n---\n", "---\n...\n---\n%s\n---\n", "---\n%s\n",
		"%%YAML 1.2\n---\n%s\n---\n", "%%YAML 1.1\n# c\n\n---\n%s\n...\n",
		"%%TAG !b! tag:yaml.org,2002:\n---\n%s\n---\n", "%%FOO x\n---\n%s\n---\n", "---\n...\n%%YAML 1.2\n---\n%s\n---\n",
		"--- !!map\n%s\n---\n", "--- &r\n%s\n---\n", "---\t\n%s\n---\n", "<!-- c -->\n---\n%s\n---\n",
	}
)

// spellYAML puts a name and a value into a spelling of a key.
func spellYAML(key, name, value string) string {
	escaped := fmt.Sprintf("\"%s\\u%04x%s\"", name[:2], name[2], name[3:])
	hex := fmt.Sprintf("\"%s\\x%02x\"", name[:len(name)-1], name[len(name)-1])
	coded := map[string]string{"forbidden": "Zm9yYmlkZGVu", "read_only": "cmVhZF9vbmx5", "ignore": "aWdub3Jl"}[name]
	text := fmt.Sprintf(key+"%.0[1]s", name)
	return strings.NewReplacer("ESC", escaped, "HEX", hex, "B64", coded, "\"FOLD\"", "\""+name[:3]+"\\\n  "+name[3:]+"\"",
		"FOLD", "\""+name[:3]+"\\\n  "+name[3:]+"\"", "V", value).Replace(text)
}

// namedPaths returns the strings in the values of a name's members, at whatever depth of what YAML decodes to.
func namedPaths(v any, name string, in bool) (found []string) {
	switch v := v.(type) {
	case string:
		if in {
			found = append(found, v)
		}
	case []any:
		for _, e := range v {
			found = append(found, namedPaths(e, name, in)...)
		}
	case map[string]any:
		for k, e := range v {
			found = append(found, namedPaths(k, name, in)...)
			found = append(found, namedPaths(e, name, in || k == name)...)
		}
	case map[any]any:
		for k, e := range v {
			found = append(found, namedPaths(k, name, in)...)
			found = append(found, namedPaths(e, name, in || k == name)...)
		}
	}
	return found
}

// nodePaths does the same for a document that does not decode, because a key stands twice.
func nodePaths(n *yaml.Node, name string, in bool) (found []string) {
	switch n.Kind {
	case yaml.ScalarNode:
		if in {
			found = append(found, n.Value)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			found = append(found, nodePaths(n.Content[i], name, in)...)
			found = append(found, nodePaths(n.Content[i+1], name, in || n.Content[i].Value == name)...)
		}
	default:
		for _, e := range n.Content {
			found = append(found, nodePaths(e, name, in)...)
		}
	}
	return found
}

// pathsOfYAML returns the paths that a YAML library finds under a name in the first document that is not empty.
func pathsOfYAML(text, name string) []string {
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var n yaml.Node
		if err := d.Decode(&n); err != nil {
			return nil
		}
		var v any
		if n.Decode(&v) != nil {
			return nodePaths(&n, name, false)
		}
		if v != nil {
			return namedPaths(v, name, false)
		}
	}
}

// TestYAMLSpellings: where a YAML library finds a rule, we have the same rule, or forbid the directory; in whatever
// spelling the file has it.
func TestYAMLSpellings(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	seen, kept := 0, 0
	check := func(file, key, value, name string) {
		member := spellYAML(key, name, value)
		text := fmt.Sprintf(file, member)
		texts := []string{text}
		if value == yamlValues[0] {
			texts = append(texts, strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(text, "\n", "\r"))
		}
		for _, text := range texts {
			judged := strings.TrimPrefix(text, "<!-- c -->")
			found := append(pathsOfYAML(strings.TrimLeft(judged, "\r\n"), name), pathsOfYAML(member, name)...)
			if len(found) == 0 {
				continue
			}
			seen++
			s := &ruleSet{dir: "."}
			if err := s.parse(text); err != nil {
				continue
			}
			kept++
			globs := slices.Concat(s.forbidden, map[string][]Glob{"read_only": s.readOnly, "ignore": s.ignore}[name])
			for _, p := range found {
				if p != path.Clean(p) || !strings.ContainsAny(p, "abcdefghijklmnopqrstuvwxyz") {
					continue
				}
				if !anyCovers(globs, p) {
					t.Errorf("%+q: %s of %q is not held", text, name, p)
				}
			}
		}
	}
	for _, name := range []string{"forbidden", "read_only", "ignore"} {
		for _, key := range yamlKeys {
			for _, value := range yamlValues {
				check(yamlFiles[0], key, value, name)
			}
			for _, file := range yamlFiles {
				check(file, key, yamlValues[0], name)
			}
		}
		for _, file := range yamlFiles {
			for _, value := range yamlValues {
				check(file, yamlKeys[0], value, name)
			}
		}
	}
	if seen < 5000 || kept < 300 {
		t.Errorf("the library finds a rule in %d files, and we hold it in %d: this says little", seen, kept)
	}
	t.Logf("%d spellings with a rule, %d of them held, the others forbid", seen, kept)
}
