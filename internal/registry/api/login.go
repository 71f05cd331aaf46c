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
	op := func(m registry.LoginMethod, summary string) huma.Operation {
		o := s.postOperation("login-"+string(m), "/auth/"+string(m), summary)
		o.MaxBodyBytes = maxLoginBody
		o.SkipValidateBody = false
		return o
	}
	out := &s.Outside
	route(s, api, op(registry.MethodDNS, "Log in with a key that a TXT record of a domain names"),
		func(ctx context.Context, in *proofInput) (*sessionOutput, error) {
			return s.answerLogin(ctx, registry.MethodDNS, func() (registry.Grant, error) {
				return out.LoginDNS(ctx, in.Body, s.Now())
			})
		})
	route(s, api, op(registry.MethodHTTP, "Log in with a key that a web server of a domain names"),
		func(ctx context.Context, in *proofInput) (*sessionOutput, error) {
			return s.answerLogin(ctx, registry.MethodHTTP, func() (registry.Grant, error) {
				return out.LoginHTTP(ctx, in.Body, s.Now())
			})
		})
	route(s, api, op(registry.MethodGitHubAT, "Log in with a GitHub access token"),
		func(ctx context.Context, in *githubInput) (*sessionOutput, error) {
			return s.answerLogin(ctx, registry.MethodGitHubAT, func() (registry.Grant, error) {
				return out.LoginGitHub(ctx, in.Body.Token)
			})
		})
	actions := out.GitHubActions()
	route(s, api, op(registry.MethodGitHubOIDC, "Log in with the token of a GitHub workflow"),
		func(ctx context.Context, in *oidcInput) (*sessionOutput, error) {
			return s.answerLogin(ctx, registry.MethodGitHubOIDC, func() (registry.Grant, error) {
				return out.LoginGitHubActions(ctx, actions, in.Body.Token)
			})
		})
	route(s, api, op(registry.MethodOIDC, "Log in with an ID token of the operator's issuer"),
		func(ctx context.Context, in *oidcInput) (*sessionOutput, error) {
			return s.answerLogin(ctx, registry.MethodOIDC, func() (registry.Grant, error) {
				return out.OIDC.Login(ctx, in.Body.Token)
			})
		})
	route(s, api, op(registry.MethodNone, "Log in as nobody"),
		func(ctx context.Context, in *noneInput) (*sessionOutput, error) {
			return s.answerLogin(ctx, registry.MethodNone, func() (registry.Grant, error) {
				if in.Origin != "" { // see authenticate
					return registry.Grant{},
						registry.NewProblem(http.StatusForbidden, "a browser cannot log in without a proof")
				}
				return registry.AnonymousGrant(), nil
			})
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
