package project

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
)

const (
	goMod = "module hallmark-closure\n\ngo 1.23.0\n\nrequire example.com/notes v1.4.0\n\nrequire example.com/yaml v3.0.1+incompatible // indirect\n"
	goSum = "example.com/notes v1.4.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n" +
		"example.com/notes v1.4.0/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n" +
		"example.com/yaml v3.0.1+incompatible/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
	emptySHA256 = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func TestModules(t *testing.T) {
	root, err := artifact.NewGo("example.com/notes", "v1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseModules(root, "example.com/notes/cmd/notes", []byte(goMod), []byte(goSum))
	if err != nil {
		t.Fatal(err)
	}
	// The other module gives no package, and so has no hash of its own.
	if len(c.Packages) != 1 || c.Packages[0].Ref != root || c.Packages[0].Integrity[0].String() != emptySHA256 {
		t.Errorf("packages %+v", c.Packages)
	}
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseClosure(data)
	if err != nil {
		t.Fatal(err)
	}
	if again.Engine != EngineGo || again.Root != root || again.Program != c.Program || string(again.GoMod) != goMod || string(again.GoSum) != goSum {
		t.Errorf("%+v", again)
	}
	if same, err := again.Encode(); err != nil || !bytes.Equal(same, data) {
		t.Errorf("%v: encoded again it is\n%s", err, same)
	}
}

// A closure comes from a checkout: what leads to other code than that of its hashes is refused.
func TestModulesErrors(t *testing.T) {
	root, err := artifact.NewGo("example.com/notes", "v1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	const program = "example.com/notes"
	for name, x := range map[string]struct{ program, mod, sum, want string }{
		"replaced":        {program, goMod + "replace example.com/notes => ../evil\n", goSum, "more than what it requires"},
		"excluded":        {program, goMod + "exclude example.com/yaml v3.0.0+incompatible\n", goSum, "more than what it requires"},
		"toolchain":       {program, goMod + "toolchain go1.99.0\n", goSum, "more than what it requires"},
		"godebug":         {program, goMod + "godebug default=go1.11\n", goSum, "more than what it requires"},
		"tool":            {program, goMod + "tool example.com/notes\n", goSum, "more than what it requires"},
		"other module":    {program, strings.Replace(goMod, "hallmark-closure", "example.com/x", 1), goSum, "not that of the module"},
		"no go.mod":       {program, "gibberish\n", goSum, "unknown directive"},
		"other program":   {"example.com/notesx", goMod, goSum, "no package of the module"},
		"option":          {"-o", goMod, goSum, "no package of the module"},
		"above":           {"example.com/notes/../x", goMod, goSum, "no package of the module"},
		"root missing":    {program, strings.Replace(goMod, "notes v1.4.0", "notes v1.4.1", 1), goSum, "itself is missing"},
		"no hash":         {program, goMod, strings.SplitAfterN(goSum, "\n", 2)[1], "itself is missing"},
		"twice":           {program, goMod, goSum + strings.SplitAfter(goSum, "\n")[0], "twice"},
		"another hash":    {program, goMod, strings.Replace(goSum, "h1:", "h2:", 1), "no h1 hash"},
		"short hash":      {program, goMod, strings.Replace(goSum, "47DEQpj8", "", 1), "no h1 hash"},
		"malformed sum":   {program, goMod, "example.com/notes\n", "no line of go.sum"},
		"carriage return": {program, goMod, strings.ReplaceAll(goSum, "\n", "\r\n"), "more than one line"},
	} {
		if _, err := ParseModules(root, x.program, []byte(x.mod), []byte(x.sum)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
