package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

type sessionOutput struct{ Body registry.Session }

type proofInput struct{ Body registry.Proof }

type githubInput struct {
	Body struct {
		Token string `json:"github_token" minLength:"1" maxLength:"1024"`
	}
}

type oidcInput struct {
	Body struct {
		Token string `json:"oidc_token" minLength:"1" maxLength:"32768"`
	}
}

type noneInput struct {
	Origin string `header:"Origin" hidden:"true"`
}

// loginRoutes registers an operation for each method, offered or not.
func (s *Server) loginRoutes(api huma.API) {
	out := &s.Outside
	loginRoute(s, api, registry.MethodDNS, "Log in with a key that a TXT record of a domain names",
		func(ctx context.Context, in *proofInput) (registry.Grant, error) {
			return out.LoginDNS(ctx, in.Body, s.Now())
		})
	loginRoute(s, api, registry.MethodHTTP, "Log in with a key that a web server of a domain names",
		func(ctx context.Context, in *proofInput) (registry.Grant, error) {
			return out.LoginHTTP(ctx, in.Body, s.Now())
		})
	loginRoute(s, api, registry.MethodGitHubAT, "Log in with a GitHub access token",
		func(ctx context.Context, in *githubInput) (registry.Grant, error) {
			return out.LoginGitHub(ctx, in.Body.Token)
		})
	actions := out.GitHubActions()
	loginRoute(s, api, registry.MethodGitHubOIDC, "Log in with the token of a GitHub workflow",
		func(ctx context.Context, in *oidcInput) (registry.Grant, error) {
			return out.LoginGitHubActions(ctx, actions, in.Body.Token)
		})
	loginRoute(s, api, registry.MethodOIDC, "Log in with an ID token of the operator's issuer",
		func(ctx context.Context, in *oidcInput) (registry.Grant, error) {
			return out.OIDC.Login(ctx, in.Body.Token)
		})
	loginRoute(s, api, registry.MethodNone, "Log in as nobody",
		func(_ context.Context, in *noneInput) (registry.Grant, error) {
			if in.Origin != "" { // see authenticate
				return registry.Grant{},
					registry.NewProblem(http.StatusForbidden, "a browser cannot log in without a proof")
			}
			return registry.AnonymousGrant(), nil
		})
}

// loginRoute registers the operation of one method, in which prove returns what the input grants.
func loginRoute[I any](s *Server, api huma.API, m registry.LoginMethod, summary string,
	prove func(context.Context, *I) (registry.Grant, error)) {
	o := s.postOperation("login-"+string(m), "/auth/"+string(m), summary)
	o.MaxBodyBytes, o.SkipValidateBody = maxLoginBody, false
	route(s, api, o, func(ctx context.Context, in *I) (*sessionOutput, error) {
		return s.answerLogin(ctx, m, func() (registry.Grant, error) { return prove(ctx, in) })
	})
}

// offers reports whether the registry has a method of login.
func (s *Server) offers(m registry.LoginMethod) bool {
	switch {
	case s.Issuer == nil || !slices.Contains(s.Logins, m):
		return false
	case m == registry.MethodGitHubOIDC:
		return s.Outside.GitHubOIDCAudience != ""
	case m == registry.MethodOIDC:
		return s.Outside.OIDC != nil
	}
	return true
}

// answerLogin answers with a token for what proof grants.
func (s *Server) answerLogin(ctx context.Context, m registry.LoginMethod,
	proof func() (registry.Grant, error)) (*sessionOutput,
	error) {
	if !s.offers(m) {
		return nil, registry.NewProblem(http.StatusNotFound, "this registry has no login by %s", m)
	}
	if wait := s.logins.take(address(ctx), s.Now()); wait > 0 {
		s.Counters.Limited.Add(1)
		return nil, slowDown(wait, "to log in from this address")
	}
	grant, err := proof()
	var p *registry.Problem
	switch {
	case err == nil:
	case errors.As(err, &p):
		s.Counters.LoginsRefused.Add(1)
		return nil, p
	case errors.Is(err, ErrRefused):
		s.Counters.LoginsRefused.Add(1)
		Logger(ctx).Info("login refused", "method", m, "reason", err, "cause", errors.Unwrap(err))
		return nil, registry.NewProblem(http.StatusUnauthorized, "%s login: %s", m, err)
	case ctx.Err() != nil:
		return nil, err
	default:
		// The other service's error may hold details that the caller must not see.
		Logger(ctx).Error("login", "method", m, "error", err)
		p := registry.NewProblem(http.StatusBadGateway, "%s login: the service that confirms who you are cannot be "+
			"reached now", m)
		p.RetryAfter = retryAfter
		return nil, p
	}
	token, expires, err := s.Issuer.Issue(grant, s.Now())
	if err != nil {
		return nil, err
	}
	s.Counters.Logins.Add(1)
	Logger(ctx).Info("login", "method", m, "subject", grant.Subject)
	return &sessionOutput{registry.Session{Token: token, ExpiresAt: expires.Unix()}}, nil
}
