package hfmcp

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// draft is the version of JSON Schema that the server in Rust names.
const draft = "https://json-schema.org/draft/2020-12/schema"

// operationName is the name under which it defines an operation.
const operationName = "EditOperation"

// titles are those of its schemas, by the types of arguments.
var titles = map[reflect.Type]string{
	reflect.TypeFor[readArguments](): "ReadTextInput", reflect.TypeFor[rawArguments](): "ReadFileInput",
	reflect.TypeFor[readMultipleArguments](): "ReadMultipleFilesInput",
	reflect.TypeFor[listArguments]():         "ListDirectoryInput", reflect.TypeFor[treeArguments](): "DirectoryTreeInput",
	reflect.TypeFor[editArguments](): "EditTextInput", reflect.TypeFor[writeTextArguments](): "WriteTextInput",
	reflect.TypeFor[writeArguments]():     "WriteFileInput",
	reflect.TypeFor[directoryArguments](): "CreateDirectoryInput", reflect.TypeFor[moveArguments](): "MoveFileInput",
}

// inputOf returns the schema of arguments as the server in Rust has it: what may be left out may be null, and numbers
// of lines are not negative. That a choice has certain values it says in words alone.
func inputOf(in reflect.Type) *jsonschema.Schema {
	s := toolset.Arguments(in).Schema()
	s.Schema, s.Title = draft, titles[in]
	allowNull(s)
	if ops := s.Properties["operations"]; ops != nil {
		allowNull(ops.Items)
		s.Defs = map[string]*jsonschema.Schema{operationName: ops.Items}
		ops.Items = &jsonschema.Schema{Ref: "#/$defs/" + operationName}
	}
	return s
}

// allowNull has the members of an object that may be left out be null too.
func allowNull(s *jsonschema.Schema) {
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	for name, member := range s.Properties {
		if required[name] {
			continue
		}
		member.Extra = map[string]any{"nullable": true}
		if member.Type == "integer" {
			member.Format, member.Minimum = "uint", new(float64)
		}
	}
}
