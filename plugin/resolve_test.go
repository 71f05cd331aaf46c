package plugin

import (
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

type resolvedCase struct {
	files map[string]string
	want  string // what is reported of it
}

// fileX is a file that imports "other" where it is scanned, and what index.js imports.
func fileX(file, imported string) map[string]string {
	return map[string]string{"dist/index.js": imported, "dist/" + file: "require other"}
}

func with(files map[string]string, file, text string) map[string]string {
	files["dist/"+file] = text
	return files
}

// resolvedCases are what Node 20 to 26 make of a specifier, where that is not what it looks like:
// e2e/plugins.TestSpecifiersAsNode found these, and asks Node.
var resolvedCases = map[string]resolvedCase{
	"a space at the end of a URL":      {fileX("x", "import ./x "), "other"},
	"a space at the end of a package":  {fileX("node_modules/a/x", "import a/x "), "computed"},
	"a segment of a URL that is empty": {fileX("a/x", "import ./a//../x"), "computed"},
	"the same, escaped":                {fileX("a/x", "import ./a//%2e%2E/x"), "computed"},
	"an empty segment by itself":       {fileX("a/x", "import ./a//x"), "other"},
	"a dotfile that is no data":        {fileX(".json", "require ./.json"), "other"},
	"a query of a package":             {fileX("node_modules/a/x", "import a/x?q"), "computed"},
	"a query in a package's name":      {fileX("node_modules/x", "import ?q/x"), "forbidden"},
	"an escape of a package":           {fileX("node_modules/a/x", "import a/%78"), "computed"},
	"two dots and a name":              {fileX("..x", "require ..x"), "forbidden"},
	"one dot and a name":               {fileX("node_modules/.p/index.js", "require .p"), "other"},
	"a file in the place of a package": {fileX("node_modules/"+SDK, "require "+SDK), "other"},
	"a file that a package lacks": {
		with(fileX("node_modules/a/index.js", "require a/b"), "a", ""), "external other"},
	"an empty package":                {fileX("node_modules/a/b.js", "require a"), "external other"},
	"the same, imported":              {fileX("node_modules/a/b.js", "import a"), "other"},
	"a file that only looks like one": {fileX("node_modules/a/b.js", "require a/b/"), "external other"},
	"a directory of a package":        {fileX("node_modules/a/b/index.js", "require a/b/"), "other"},
	"a package further up": {
		with(with(fileX("node_modules/a/x", ""), "s/node_modules/a/y", ""), "s/a.js", "require a/x"), "other"},
	"exports that lack it": {with(fileX("node_modules/a/index.js", "require a/b"), "node_modules/a/package.json",
		`{"exports": "./index.js"}`), "other"},
	"exports that count for no such name": {with(fileX("node_modules/.a/index.js", "require .a/b"),
		"node_modules/.a/package.json", `{"exports": "./index.js"}`), "external other"},
	"itself": {
		with(fileX("x", "require self/y"), "package.json", `{"name": "self", "exports": {"./y": "./x"}}`), "other"},
	"itself, which exports nothing": {
		with(fileX("x", "require self/y"), "package.json", `{"name": "self", "main": "./x"}`), "external other"},
	"a # without imports": {with(fileX("node_modules/#a/x", "require #a/x"), "package.json", `{}`), "forbidden"},
	"imports of a #": {with(fileX("x", ""), "package.json", `{"imports": {"#a": "#b", "#x": "./x"}}`),
		"computed other"},
	"imports that climb out": {with(fileX("x", "import #a/../../x"), "package.json",
		`{"imports": {"#a/*": "@modelcontextprotocol/sdk/*"}}`), "computed"},
	"imports with a tab": {with(fileX("x", "import #.\t./x"), "package.json", `{"imports": {"#*": "./*"}}`),
		"forbidden other"},
	"imports with a query": {with(fileX("x", "import #x?"), "package.json", `{"imports": {"#*": "./*.dat"}}`),
		"computed"},
	"stars": {
		with(fileX("a/b/a/x", ""), "package.json", `{"exports": {"./*": "./a/*/a/*"}}`), "other"},
	"an absolute main":      {with(fileX("x", ""), "package.json", `{"main": "/x"}`), "forbidden other"},
	"main twice":            {with(fileX("x", ""), "package.json", `{"main": "./x", "main": 5}`), "computed"},
	"main before a mistake": {with(fileX("x", ""), "package.json", `{"main": "./x", "z": tru}`), "computed"},
	"a number that is too large": {
		with(fileX("x", ""), "package.json", `{"main": "./x", "z": 1e999}`), "computed other"},
	"a module of some Nodes": {fileX("a", "require _stream_wrap"), "external"},
	"a link of a package": {
		with(fileX("a", "require a/link.js"), "node_modules/a/index.js", ""), "outside external"},
	"a link to a package": {fileX("a", "import link"), "outside external"},
	"a link of exports": {
		with(fileX("a", "import linked/a"), "node_modules/linked/index.js", ""), "outside"},
	"a link in a directory": {fileX("x", "require ./sub"), "outside"},
	"a link in dist itself": {with(fileX("a/b", ""), "sub/a.js", "require .."), "outside"},
}

// reported names what there is a finding of.
func (u *usage) reported() string {
	_, other := u.external["other"]
	delete(u.external, "other")
	var found []string
	for _, of := range []struct {
		what string
		all  map[string]sites
	}{{"computed", u.computed}, {"forbidden", u.forbidden}, {"outside", u.outside}, {"external", u.external}} {
		if len(of.all) > 0 {
			found = append(found, of.what)
		}
	}
	if other {
		found = append(found, "other")
	}
	return strings.Join(found, " ")
}

// A specifier leads to each file that some Node loads for it, or is reported.
func TestResolvedAsNodeDoes(t *testing.T) {
	for name, c := range resolvedCases {
		files := map[string]string{ManifestFile: manifest("")}
		maps.Copy(files, c.files)
		list, open := listed(files)
		b, err := ReadBundle(t.Context(), list, nil, func(p string) (io.ReadCloser, error) { return open(p) })
		if err != nil {
			t.Fatal(name, err)
		}
		for _, link := range []string{"dist/node_modules/a/link.js", "dist/node_modules/link",
			"dist/node_modules/linked/package.json", "dist/sub/index.js", "dist/index.json"} {
			b.Refused = append(b.Refused, &tree.EntryError{Path: link, Kind: "a symbolic link"})
		}
		u, err := b.scanAll(t.Context(), scanLines)
		if err != nil {
			t.Fatal(name, err)
		}
		got := u.reported()
		if got != c.want || len(u.unparsed) > 0 {
			t.Errorf("%s: %q, want %q: %v", name, got, c.want, u.unparsed)
		}
	}
}
