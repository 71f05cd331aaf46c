// Package sarifschema has the schema of SARIF 2.1.0, for tests of what is printed for code
// scanning. testdata/NOTICE says where the schema comes from and who may copy it.
package sarifschema

import (
	"bytes"
	_ "embed"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed testdata/sarif-schema-2.1.0.json
var text []byte

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	const location = "sarif:schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // fetch nothing
	c.AssertFormat()
	if err := c.AddResource(location, doc); err != nil {
		return nil, err
	}
	return c.Compile(location)
})

// Check returns an error that names everything in data that the schema refuses.
func Check(data []byte) error {
	schema, err := compiled()
	if err != nil {
		return err
	}
	log, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(log)
}
