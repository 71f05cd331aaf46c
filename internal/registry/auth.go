package registry

import (
	"net/http"
	"strings"
)

// authenticate is nil if the request may publish at all. As there is no way to get a
// token yet, every token is refused; without one the operator decides.
//
// A request of a browser carries an Origin. A publish without a token from one is
// refused, as otherwise any page that a person visits could publish to the registry
// on the same machine, by rebinding its own name to that address.
func (s *server) authenticate(authorization, origin string) error {
	scheme, token, _ := strings.Cut(authorization, " ")
	switch {
	case authorization != "" && (!strings.EqualFold(scheme, "Bearer") || strings.TrimSpace(token) == ""):
		return problem(http.StatusUnauthorized, "the Authorization header is not Bearer TOKEN")
	case authorization != "":
		return problem(http.StatusUnauthorized, "invalid token: this registry has issued none")
	case !s.AllowAnonymous:
		return problem(http.StatusUnauthorized, "publishing needs a token")
	case origin != "":
		return problem(http.StatusForbidden, "a browser cannot publish without a token")
	}
	return nil
}
