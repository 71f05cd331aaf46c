package api

import (
	"bytes"
	_ "embed"
	"html/template"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// docsPage is the API for people: no script, and nothing that is not in the page.
func docsPage(api *huma.OpenAPI) ([]byte, error) {
	type operation struct {
		*huma.Operation
		Answers []string
		Needs   bool // a token
	}
	var shown []operation
	for _, op := range operations(api) {
		path, ok := strings.CutPrefix(op.Path, "/v0.1")
		if !ok {
			continue // the same under /v0
		}
		o := operation{Operation: op, Needs: len(op.Security) > 0}
		copied := *op
		copied.Path = path
		o.Operation = &copied
		o.Answers = registry.SortedKeys(op.Responses)
		if n := len(o.Answers) - 1; n > 0 && o.Answers[n] == "default" {
			o.Answers[n] = "or an error"
		}
		shown = append(shown, o)
	}
	slices.SortStableFunc(shown, func(a, b operation) int { return strings.Compare(a.Path, b.Path) })
	page, err := template.New("docs").Parse(docsTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Title": api.Info.Title, "Version": api.Info.Version, "Description": api.Info.Description,
		"Operations": shown, "Style": template.CSS(Sheet),
	})
	return b.Bytes(), err
}

//go:embed docs.html
var docsTemplate string
