package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// authenticate returns the grant of a publish, or nil if the operator accepts publishes without a
// token: then any name is allowed.
//
// A request of a browser carries an Origin. A publish without a token from one is
// refused, as otherwise any page that a person visits could publish to the registry
// on the same machine, by rebinding its own name to that address.
func (s *Server) authenticate(ctx context.Context, authorization, origin string) (*registry.Grant, error) {
	if authorization == "" && s.Policy().AllowAnonymous {
		if origin != "" {
			return nil, registry.NewProblem(http.StatusForbidden, "a browser cannot publish without a token")
		}
		return nil, nil
	}
	if authorization == "" {
		return nil, registry.NewProblem(http.StatusUnauthorized, "publishing needs a token")
	}
	grant, err := s.bearer(ctx, authorization)
	if err == nil && origin == "" && s.isAnonymous(grant) {
		return nil, nil
	}
	return &grant, err
}

// isAnonymous reports whether a grant is as none: see Config.NoneIsAnonymous.
func (s *Server) isAnonymous(g registry.Grant) bool {
	return s.NoneIsAnonymous && g.Method == registry.MethodNone && s.Policy().AllowAnonymous
}

// bearer returns what the token of an Authorization header grants.
func (s *Server) bearer(ctx context.Context, authorization string) (registry.Grant, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	switch {
	case authorization == "":
		return registry.Grant{}, registry.NewProblem(http.StatusUnauthorized, "this needs a token")
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return registry.Grant{},
			registry.NewProblem(http.StatusUnauthorized, "the Authorization header is not Bearer TOKEN")
	}
	grant, err := s.grant(ctx, token)
	if errors.Is(err, registry.ErrToken) {
		return registry.Grant{}, registry.NewProblem(http.StatusUnauthorized, "%s", err)
	}
	if err != nil {
		return registry.Grant{}, err
	}
	if s.isAnonymous(grant) {
		return grant, nil // all who log in as nobody are one subject: only their addresses are told apart
	}
	if wait := s.writes.take(string(grant.Method)+" "+grant.Subject, s.Now()); wait > 0 {
		s.Counters.Limited.Add(1)
		return registry.Grant{}, slowDown(wait, "of this token")
	}
	return grant, nil
}

// grant reads a token of either kind. The error of one that is not valid wraps
// registry.ErrToken.
func (s *Server) grant(ctx context.Context, token string) (registry.Grant, error) {
	if strings.HasPrefix(token, registry.TokenPrefix) && s.Tokens != nil {
		if len(token) != registry.TokenLength {
			return registry.Grant{}, fmt.Errorf("%w: an API token has %d characters", registry.ErrToken,
				registry.TokenLength)
		}
		t, err := s.Tokens.Find(ctx, registry.TokenHash(token))
		switch {
		case errors.Is(err, registry.ErrNotFound):
			return registry.Grant{}, fmt.Errorf("%w: not one of this registry", registry.ErrToken)
		case err != nil:
			return registry.Grant{}, err
		case !t.Valid(s.Now()):
			return registry.Grant{}, fmt.Errorf("%w: expired or revoked", registry.ErrToken)
		}
		return registry.Grant{Method: registry.MethodToken, Subject: t.ID, Permissions: t.Permissions}, nil
	}
	if s.Issuer == nil {
		return registry.Grant{}, fmt.Errorf("%w: this registry has issued none", registry.ErrToken)
	}
	return s.Issuer.Verify(token, s.Now())
}

// forbidden is the answer to a bearer who may not act on name.
func forbidden(g registry.Grant, name string) *registry.Problem {
	may := strings.Join(g.Resources(registry.ActionPublish), ", ")
	may = cmp.Or(may, "nothing")
	p := registry.NewProblem(http.StatusForbidden, "the token permits to publish %s, not %+.200q", may, name)
	if strings.HasPrefix(name, "io.github.") && g.Method == registry.MethodGitHubAT {
		p.Errors = []registry.ProblemError{
			{Location: "body.name",
				Message: "the names of an organisation are for its owners, with a token that may read organisations " +
					"(read:org), and for its workflows"}}
	}
	return p
}

// actor names the bearer of a grant as the log does.
func actor(g *registry.Grant) string {
	if g == nil {
		return registry.Anonymous
	}
	return string(g.Method) + ":" + g.Subject
}
