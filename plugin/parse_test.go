package plugin

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// What is read differently by two readers is not read, and what is said of it helps.
func TestParseStrictly(t *testing.T) {
	good := manifest("")
	deep := func(n int) string {
		return manifest(`"x-a":` + strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	for _, c := range []struct{ name, text, want string }{
		{"as it is", good, ""},
		{"of the limit", good + strings.Repeat(" ", MaxManifest-len(good)), ""},
		{"beyond the limit", good + strings.Repeat(" ", MaxManifest-len(good)+1), "1048576"},
		{"nested to the limit", deep(MaxDepth - 1), ""},
		{"nested beyond it", deep(MaxDepth), "32"},
		{"a member twice", strings.Replace(good, `"name"`, `"entry":"dist/other.js","name"`, 1), "entry"},
		{"more after the end", good + "{}", ""},
		{"no UTF-8", strings.Replace(good, `"name"`, "\"x-a\":\"\xff\",\"name\"", 1), "UTF-8"},
		{"empty", "", "mcp-plugin.json is not valid"},
		{"a list", "[]", "must be an object"},
		{"null", "null", "must be an object"},
		{"version 1", strings.Replace(good, `"manifestVersion":"2"`, `"manifestVersion":"1"`, 1),
			"a manifest of version 1"},
		{"version 1 as a number", strings.Replace(good, `"manifestVersion":"2"`, `"manifestVersion":1`, 1),
			"a manifest of version 1"},
		{"no version", strings.Replace(good, `"manifestVersion":"2",`, ``, 1), "a manifest of version 1"},
		{"version 3", strings.Replace(good, `"manifestVersion":"2"`, `"manifestVersion":"3"`, 1), "/manifestVersion: "},
	} {
		m, err := Parse([]byte(c.text))
		valid := c.want == "" && c.name != "more after the end"
		if (err == nil) != valid || (m != nil) != valid ||
			err != nil && (!strings.Contains(err.Error(), c.want) || evidence.ClassOf(err) != evidence.Validation) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Paths of checksums mean the same with and without dist/, and must be ones that every
// platform holds.
func TestChecksumPaths(t *testing.T) {
	sum := strings.Repeat("aB", 32)
	parse := func(path string) (*Manifest, error) {
		return Parse(
			[]byte(manifest(
				`"dist":{"hash":"sha256:` + sum + `","checksums":{"files":[{"path":"` + path + `","sha256":"` + sum +
					`"}]}}`)))
	}
	for path, want := range map[string]string{"x": "x", "dist/x": "x", "./x": "x", "./dist/x": "x",
		"dist/dist/x": "dist/x", "distance/x": "distance/x", ".x": ".x"} {
		m, err := parse(path)
		if err != nil || m.Dist.Checksums[want] != strings.ToLower(sum) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"../x", "dist/../x", "dist/nul", "dist/aux.js", "dist/a:b", "/x", "dist//x",
		"dist/x/", "dist/a.", "dist/", "./", "dist/./x", `a\\b`, "dist/\\u0000"} {
		if m, err := parse(path); evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%q is read as %v, %v", path, m, err)
		}
	}
}

// What of dist is not claimed is known from what is claimed to be nothing.
func TestParseDist(t *testing.T) {
	hash := "sha256:" + strings.Repeat("0", 64)
	for _, c := range []struct {
		members      string
		count, bytes int64
		all          bool
	}{
		{``, -1, -1, false}, {`,"fileCount":3`, 3, -1, false}, {`,"totalBytes":0`, -1, 0, false},
		{`,"fileCount":2.0,"totalBytes":1e3,"coverage":"all"`, 2, 1000, true}, {`,"coverage":"partial"`, -1, -1, false},
		{`,"fileCount":9007199254740991,"totalBytes":9007199254740991`, 1<<53 - 1, 1<<53 - 1, false},
	} {
		m, err := Parse([]byte(manifest(`"dist":{"hash":"` + hash + `"` + c.members + `}`)))
		if err != nil || m.Dist.FileCount != c.count || m.Dist.Bytes != c.bytes || m.Dist.All != c.all ||
			m.Policy != BundledOnly {
			t.Errorf("%s: %+v, %v", c.members, m, err)
		}
	}
}

// Many problems are reported up to a limit, and named in the order of their places.
func TestParseIssues(t *testing.T) {
	var names []string
	for range 500 {
		names = append(names, `"A B"`)
	}
	_, err := Parse(
		[]byte(manifest(
			`"capabilities":{"tools":[7],"prompts":[` + strings.Repeat("7,", 400) + `7]},"dependencies":[` +
				strings.Join(names, ",") + `]`)))
	invalid, ok := err.(*Invalid)
	if !ok || len(invalid.Issues) != maxIssues || !strings.Contains(err.Error(), "and 190 more") {
		t.Fatalf("%.300v", err)
	}
	for i := range invalid.Issues[1:] {
		if invalid.Issues[i].Path > invalid.Issues[i+1].Path {
			t.Errorf("%s before %s", invalid.Issues[i].Path, invalid.Issues[i+1].Path)
		}
	}
}
