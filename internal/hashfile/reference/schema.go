package reference

import (
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// draft is the version of JSON Schema that the reference server names.
const draft = "http://json-schema.org/draft-07/schema#"

// inputOf returns the schema of arguments as the reference server has it: its numbers are not only whole ones, some
// members have defaults, and paths are at least one.
func inputOf(in reflect.Type) *jsonschema.Schema {
	s := toolset.Arguments(in).Schema()
	s.Schema = draft
	for name, member := range s.Properties {
		switch name {
		case "head", "tail":
			member.Type = "number"
		case "dryRun":
			member.Default = json.RawMessage("false")
		case "sortBy":
			member.Default = json.RawMessage(`"name"`)
		case "excludePatterns":
			member.Default = json.RawMessage("[]")
		case "paths":
			one := 1
			member.MinItems = &one
		}
	}
	return s
}

// textOutput returns the schema of a structure that repeats the text.
func textOutput() *jsonschema.Schema {
	s := object([]string{"content"}, map[string]*jsonschema.Schema{"content": {Type: "string"}})
	s.Schema = draft
	return s
}

// mediaOutput returns the schema of a structure that repeats an image, a sound or a resource.
func mediaOutput() *jsonschema.Schema {
	text, resource := jsonschema.Schema{Type: "string"}, any("resource")
	media := object([]string{"type", "data", "mimeType"}, map[string]*jsonschema.Schema{
		"type": {Type: "string", Enum: []any{"image", "audio"}}, "data": &text, "mimeType": &text})
	blob := object([]string{"uri", "blob"},
		map[string]*jsonschema.Schema{"uri": &text, "mimeType": &text, "blob": &text})
	other := object([]string{"type", "resource"},
		map[string]*jsonschema.Schema{"type": {Type: "string", Const: &resource}, "resource": blob})
	s := object([]string{"content"}, map[string]*jsonschema.Schema{
		"content": {Type: "array", Items: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{media, other}}}})
	s.Schema = draft
	return s
}

// object returns the schema of an object with these members and no others.
func object(required []string, members map[string]*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: members, Required: required,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
}
