package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/check"
)

// TestDiffMarkdown: no text from outside ends the block that it is in, and neither one long text nor many hide the rest.
func TestDiffMarkdown(t *testing.T) {
	a := &app.App{Name: "hallmark"}
	hostile := check.ServerChange{Name: "notes", Change: check.WasChanged, Fields: []check.FieldChange{
		{What: "launch line", Old: "a", New: "````\n<img src=x>@all"}, {What: "url", New: strings.Repeat("x", 5000)}}}
	text := diffMarkdown(a, "<b>\u202e", &check.Changes{Servers: []check.ServerChange{hostile}})
	if !strings.Contains(text, "\n`````text\n") || strings.Count(text, "\n`````\n") != 1 ||
		!strings.Contains(text, `a -> `+"````"+`\n<img`) || !strings.Contains(text, "more characters)") ||
		strings.ContainsAny(text[:strings.Index(text, "`````")], "<\u202e") {
		t.Errorf("%s", text)
	}
	many := &check.Changes{}
	for range 300 {
		hostile.Fields = append(hostile.Fields, check.FieldChange{What: "more", New: strings.Repeat("y", 300)})
	}
	for i := range 100 {
		hostile.Name = fmt.Sprint("n", i)
		many.Servers = append(many.Servers, hostile)
	}
	text = diffMarkdown(a, "main", many)
	if len(text) > maxMarkdown+1000 || !strings.Contains(text, "102 lines more: 'hallmark diff' shows all.") ||
		!strings.HasSuffix(text, " parts more: 'hallmark diff' shows all.\n\n") {
		t.Errorf("%d bytes: …%s", len(text), text[len(text)-200:])
	}
}
