package hashfile

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// makeStrict changes a schema as OpenAI's strict mode wants it: nothing else is taken, and all is required, so that what
// was optional may be null.
func makeStrict(s *jsonschema.Schema) {
	if s.Items != nil {
		makeStrict(s.Items)
	}
	if s.Type != "object" {
		return
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	s.Required = []string{}
	for name, property := range s.Properties {
		makeStrict(property)
		if s.Required = append(s.Required, name); !required[name] {
			property.Types, property.Type = []string{property.Type, "null"}, ""
			if property.Enum != nil {
				property.Enum = append(property.Enum, nil)
			}
		}
	}
	s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
}

// TestStrictSchemas: the schema of each tool is still one after the change for strict providers, and takes calls as
// their models make them, with null for what they leave out. These calls are answered.
func TestStrictSchemas(t *testing.T) {
	d := dir(t)
	write(t, d, "a.go", tryText)
	p := serve(t, d)
	hash := sum([]byte(tryText)).String()
	strict := map[string]*jsonschema.Resolved{}
	for tool, err := range p.s.Tools(t.Context(), nil) {
		must(t, err)
		text, err := json.Marshal(tool.InputSchema)
		must(t, err)
		var s jsonschema.Schema
		must(t, json.Unmarshal(text, &s))
		makeStrict(&s)
		if strict[tool.Name], err = s.Resolve(nil); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
	calls := []struct {
		tool string
		args arguments
	}{
		{"read_text_file", arguments{"path": "a.go", "start_line": nil, "end_line": nil, "max_bytes": nil}},
		{"read_multiple_files", arguments{"paths": []string{"a.go"}}},
		{"search_files", arguments{"pattern": nil, "path": nil, "glob": "*.go", "ignore_case": nil, "context": nil,
			"max_results": nil}},
		{"list_directory", arguments{"path": nil, "recursive": true}},
		{"edit_text_file", arguments{"path": "a.go", "file_hash": hash, "dry_run": nil, "on_stale": nil, "tags_meant": nil,
			"operations": ops(arguments{"op": "delete", "anchor": "4:8d", "end_anchor": nil, "content": nil},
				arguments{"op": "append", "anchor": "", "end_anchor": nil, "content": "// end"})}},
		{"write_text_file", arguments{"path": "new", "content": "x\n", "file_hash": nil, "tags_meant": nil}},
		{"create_directory", arguments{"path": "new directory"}},
		{"move_file", arguments{"source": "new", "destination": "moved"}},
	}
	for _, x := range calls {
		text, err := json.Marshal(x.args)
		must(t, err)
		var value any
		must(t, json.Unmarshal(text, &value))
		if err := strict[x.tool].Validate(value); err != nil {
			t.Errorf("%s: %v", x.tool, err)
		}
		p.call(x.tool, x.args).ok()
	}
	if len(calls) != len(strict) {
		t.Errorf("%d of %d tools are called", len(calls), len(strict))
	}
}
