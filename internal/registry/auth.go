package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
)

// authenticate returns what a publish may publish; nil is anything, because the
// operator takes publishes without a token.
//
// A request of a browser carries an Origin. A publish without a token from one is
// refused, as otherwise any page that a person visits could publish to the registry
// on the same machine, by rebinding its own name to that address.
func (s *server) authenticate(ctx context.Context, authorization, origin string) (*auth.Grant, error) {
	if authorization == "" && s.policy().AllowAnonymous {
		if origin != "" {
			return nil, problem(http.StatusForbidden, "a browser cannot publish without a token")
		}
		return nil, nil
	}
	if authorization == "" {
		return nil, problem(http.StatusUnauthorized, "publishing needs a token")
	}
	grant, err := s.bearer(ctx, authorization)
	return &grant, err
}

// bearer returns what the token of an Authorization header grants.
func (s *server) bearer(ctx context.Context, authorization string) (auth.Grant, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	switch {
	case authorization == "":
		return auth.Grant{}, problem(http.StatusUnauthorized, "this needs a token")
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return auth.Grant{}, problem(http.StatusUnauthorized, "the Authorization header is not Bearer TOKEN")
	}
	grant, err := s.grant(ctx, token)
	if errors.Is(err, auth.ErrToken) {
		return auth.Grant{}, problem(http.StatusUnauthorized, "%s", err)
	}
	if err != nil {
		return auth.Grant{}, err
	}
	if wait := s.writes.take(string(grant.Method)+" "+grant.Subject, s.Now()); wait > 0 {
		s.Counters.Limited.Add(1)
		return auth.Grant{}, slowDown(wait, "of this token")
	}
	return grant, nil
}

// grant reads a token of either kind. The error of one that is not valid wraps
// auth.ErrToken.
func (s *server) grant(ctx context.Context, token string) (auth.Grant, error) {
	if strings.HasPrefix(token, tokenPrefix) && s.Tokens != nil {
		if len(token) != tokenLength {
			return auth.Grant{}, fmt.Errorf("%w: an API token has %d characters", auth.ErrToken, tokenLength)
		}
		t, err := s.Tokens.Find(ctx, tokenHash(token))
		switch {
		case errors.Is(err, ErrNotFound):
			return auth.Grant{}, fmt.Errorf("%w: not one of this registry", auth.ErrToken)
		case err != nil:
			return auth.Grant{}, err
		case !t.Valid(s.Now()):
			return auth.Grant{}, fmt.Errorf("%w: expired or revoked", auth.ErrToken)
		}
		return auth.Grant{Method: auth.APIToken, Subject: t.ID, Permissions: t.Permissions}, nil
	}
	if s.Issuer == nil {
		return auth.Grant{}, fmt.Errorf("%w: this registry has issued none", auth.ErrToken)
	}
	return s.Issuer.Verify(token, s.Now())
}

// forbidden is the answer to a bearer who may not act on name.
func forbidden(g auth.Grant, name string) *Problem {
	may := strings.Join(g.Resources(auth.Publish), ", ")
	if may == "" {
		may = "nothing"
	}
	p := problem(http.StatusForbidden, "the token permits to publish %s, not %+.200q", may, name)
	if strings.HasPrefix(name, "io.github.") && g.Method == auth.GitHubAT {
		p.Errors = []ProblemError{{Location: "body.name", Message: "the names of an organisation are for its owners, with a token that may read organisations (read:org), and for its workflows"}}
	}
	return p
}
