package api

import (
	"net/http"
	"net/url"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Parameters are those of a query, of which each is given once and known.
type Parameters struct {
	Values url.Values
	known  []string
	Err    error
}

// notAllowed refuses a method.
func notAllowed(w http.ResponseWriter, allow string) error {
	w.Header().Set("Allow", allow)
	return registry.NewProblem(http.StatusMethodNotAllowed, "the path does not take this method")
}

// maxLoginBody is how large a login may be, in bytes.
const maxLoginBody = 64 << 10

// MinSearch is the least length of a search, in characters.
const MinSearch = 3

// MaxText is the greatest length of a search, name or version that is looked up.
const MaxText = 1024
