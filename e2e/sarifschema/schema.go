// Package sarifschema has the schema of SARIF 2.1.0, for tests of what is printed for code
// scanning. A library holds it in its source, and applies it to its own values only.
package sarifschema

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // its schema
	"github.com/xeipuuv/gojsonschema"
)

// Load reads the schema from the library's source.
func Load(ctx context.Context) (*gojsonschema.Schema, error) {
	var where bytes.Buffer
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif")
	list.Stdout, list.Stderr = &where, os.Stderr
	if err := list.Run(); err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(where.String()), "schema.go"), nil, 0)
	if err != nil {
		return nil, err
	}
	var text string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && text == "" {
			text, err = strconv.Unquote(lit.Value)
		}
		return true
	})
	if err != nil || !strings.Contains(text, "partialFingerprints") {
		return nil, errors.Join(errors.New("the library's schema is elsewhere"), err)
	}
	return gojsonschema.NewSchema(gojsonschema.NewStringLoader(text))
}

// Check is an error that names all that is wrong with data.
func Check(schema *gojsonschema.Schema, data []byte) error {
	result, err := schema.Validate(gojsonschema.NewBytesLoader(data))
	if err != nil {
		return err
	}
	var all []error
	for _, problem := range result.Errors() {
		all = append(all, errors.New(problem.String()))
	}
	return errors.Join(all...)
}
