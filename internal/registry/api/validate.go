package api

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// jsonBody returns a copy of a body, and refuses one whose Content-Type is not JSON: for a type that
// HTML forms can send, a browser would not ask the server's permission first.
func jsonBody(contentType string, body []byte) ([]byte, error) {
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != "application/json" {
		return nil, registry.NewProblem(http.StatusUnsupportedMediaType, "the Content-Type is not application/json")
	}
	return bytes.Clone(body), nil // the library uses its buffer again
}

type validateInput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte `contentType:"application/json"`
}

type validateOutput struct{ Body registry.Validity }

func (s *Server) validate(_ context.Context, in *validateInput) (*validateOutput, error) {
	raw, err := jsonBody(in.ContentType, in.RawBody)
	if err != nil {
		return nil, err
	}
	_, issues, err := parseDocument(raw, s.IsAsked)
	if err != nil {
		return nil, err
	}
	out := &validateOutput{registry.Validity{Valid: len(issues.Errors()) == 0, Issues: issues}}
	if issues == nil {
		out.Body.Issues = serverjson.Issues{}
	}
	return out, nil
}

// parseDocument parses and validates raw. The document is nil if the issues have an error. isAsked is as in [Config].
func parseDocument(raw []byte, isAsked ...func(artifact.Kind, string,
	string) bool) (*serverjson.Document, serverjson.Issues, error) {
	doc, err := serverjson.Parse(raw)
	if invalid := (*serverjson.Invalid)(nil); errors.As(err, &invalid) {
		return nil, invalid.Issues, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, f := range isAsked {
		if f != nil {
			doc.AtRegistries(f)
		}
	}
	issues := doc.ValidateForPublish()
	if len(issues.Errors()) > 0 {
		return nil, issues, nil
	}
	return doc, issues, nil
}

// invalid is the answer to a document with issues.
func invalid(issues serverjson.Issues) *registry.Problem {
	p := registry.NewProblem(http.StatusUnprocessableEntity, "validation failed")
	for _, i := range issues.Errors() {
		p.Errors = append(p.Errors, registry.ProblemError{Message: i.Message, Location: location(i.Path)})
	}
	return p
}

// location turns a JSON pointer into the form that the official registry's errors
// have: /packages/0/version becomes body.packages[0].version. A member that is no
// plain word is quoted: body.file_hashes["npm:a@1.0.0"].
func location(pointer string) string {
	var b strings.Builder
	b.WriteString("body")
	if pointer == "" {
		return b.String()
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch _, err := strconv.ParseUint(token, 10, 31); {
		case err == nil:
			b.WriteString("[" + token + "]")
		case token != "" && strings.Trim(token, wordCharacters) == "":
			b.WriteString("." + token)
		default:
			b.WriteString("[" + strconv.QuoteToASCII(token) + "]")
		}
	}
	return b.String()
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-"
