package api

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Parameters are the parameters of a query: each is given once, and known.
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

// Text is a parameter of at most so many bytes.
func (p *Parameters) Text(name string, most int) string {
	p.known = append(p.known, name)
	all := p.Values[name]
	if len(all) > 1 || len(all) == 1 && len(all[0]) > most {
		p.Err = cmp.Or(p.Err,
			error(registry.NewProblem(http.StatusUnprocessableEntity,
				"%s is given more than once, or longer than %d bytes", name, most)))
		return ""
	}
	return p.Values.Get(name)
}

// flag also reports whether the parameter was given.
func (p *Parameters) flag(name string) (value, given bool) {
	text := p.Text(name, 5)
	if text == "" {
		return false, false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		p.Err = cmp.Or(p.Err,
			error(registry.NewProblem(http.StatusUnprocessableEntity, "%s is neither true nor false", name)))
	}
	return value, true
}
