package check_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaModule has the schemas of CycloneDX; e2e/prerequisites.sh downloads it. Nothing imports it.
const schemaModule = "github.com/CycloneDX/cyclonedx-go@v0.12.0"

// lacking skips a test for which something is not installed, which CI has to have.
func lacking(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s: %v; e2e/prerequisites.sh installs it", what, err)
	}
	t.Skipf("%s: %v; e2e/prerequisites.sh installs it", what, err)
}

// The document is valid by the schema of CycloneDX 1.6, and the schema finds what is wrong in another one.
func TestCycloneDXSchema(t *testing.T) {
	command := exec.Command("go", "mod", "download", "-json", schemaModule)
	command.Dir = t.TempDir() // no go.mod is there that it could change
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := command.Output()
	var module struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil {
		lacking(t, schemaModule, err)
	}
	const base = "http://cyclonedx.org/schema/"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // fetch nothing
	c.AssertFormat()
	for name, file := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json",
		"jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		text, err := os.ReadFile(filepath.Join(module.Dir, "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = c.AddResource(base+name, doc)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile(base + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	data := write(t, "cyclonedx", world(t))
	for _, of := range []struct {
		text  []byte
		valid bool
	}{{data, true}, {bytes.ReplaceAll(data, []byte("SHA-512"), []byte("SHA512")), false}} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(of.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); (err == nil) != of.valid {
			t.Errorf("valid: %v, want %v: %v", err == nil, of.valid, err)
		}
	}
}

// checkSPDX prints what the tools of SPDX themselves find wrong in a document.
const checkSPDX = `import sys
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
for m in validate_full_spdx_document(parse_file(sys.argv[1])):
    print(m.validation_message)`

// The document is valid by the tools of SPDX, and they find what is wrong in another one.
func TestSPDXTools(t *testing.T) {
	if err := exec.Command("python3", "-c", "import spdx_tools.spdx").Run(); err != nil {
		lacking(t, "spdx-tools of PyPI", err)
	}
	data := write(t, "spdx", world(t))
	for _, of := range []struct {
		text  []byte
		wrong string
	}{{data, ""}, {bytes.ReplaceAll(data, []byte("SPDXRef-project-"), []byte("SPDXRef-project_")), "SPDXRef-project_"}} {
		file := filepath.Join(t.TempDir(), "work.spdx.json")
		if err := os.WriteFile(file, of.text, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("python3", "-c", checkSPDX, file).CombinedOutput()
		if got := string(out); err != nil || (got == "") != (of.wrong == "") || !strings.Contains(got, of.wrong) {
			t.Errorf("%v: %s", err, got)
		}
	}
}
