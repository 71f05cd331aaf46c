package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

const (
	githubTime  = 20 * time.Second
	githubPage  = 100 // organisations; GitHub's maximum
	githubPages = 20
)

// LoginGitHub exchanges a GitHub access token. Only the owners of an organisation get its
// names: a member may be anybody with access to one repository.
func (o *Outside) LoginGitHub(ctx context.Context, token string) (registry.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, githubTime)
	defer cancel()
	api := registry.GitHub{HTTP: o.HTTP, URL: o.GitHubAPI}
	answer, err := api.Get(ctx, "/user", token)
	if err != nil {
		return registry.Grant{}, err
	}
	if answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden {
		return registry.Grant{}, refuse("GitHub does not take the token")
	}
	var user struct{ Login string }
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &user) != nil {
		return registry.Grant{}, fmt.Errorf("GitHub: answered %d about the user", answer.Status)
	}
	if !registry.IsGitHubName(user.Login) {
		return registry.Grant{}, refuse("GitHub calls the user by a name that no server can have")
	}
	names := []registry.Permission{{Action: registry.ActionPublish, Resource: "io.github." + user.Login + "/*"}}
	owned, err := listOwned(ctx, api, token)
	if err != nil {
		return registry.Grant{}, err
	}
	for _, login := range owned {
		names = append(names, registry.Permission{Action: registry.ActionPublish, Resource: "io.github." + login +
			"/*"})
	}
	return registry.Grant{Method: registry.MethodGitHubAT, Subject: user.Login, Permissions: names}, nil
}

// listOwned lists the organisations that the bearer of token owns. A token that may not read
// them gives none. Every other failure is an error: otherwise an owner would be told that the
// name belongs to somebody else.
func listOwned(ctx context.Context, api registry.GitHub, token string) ([]string, error) {
	var owned []string
	for page := 1; page <= githubPages; page++ {
		list := fmt.Sprintf("/user/memberships/orgs?state=active&per_page=%d&page=%d", githubPage, page)
		answer, err := api.Get(ctx, list, token)
		if err != nil {
			return nil, err
		}
		if answer.Status == http.StatusForbidden {
			switch {
			case answer.Header.Get("X-RateLimit-Remaining") == "0" || answer.Header.Get("Retry-After") != "":
				return nil, fmt.Errorf("GitHub: its limit of requests is reached")
			case answer.Header.Get("X-GitHub-SSO") != "":
				return nil, refuse("GitHub wants the token to be authorised for single sign-on")
			}
			return nil, nil
		}
		var members []struct {
			State, Role  string
			Organization struct{ Login string }
		}
		if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &members) != nil {
			return nil, fmt.Errorf("GitHub: answered %d about organisations", answer.Status)
		}
		for _, m := range members {
			if m.State == "active" && m.Role == "admin" && registry.IsGitHubName(m.Organization.Login) {
				owned = append(owned, m.Organization.Login)
			}
		}
		if len(members) < githubPage {
			return owned, nil
		}
	}
	return nil, fmt.Errorf("GitHub: more than %d memberships", githubPage*githubPages)
}

// GitHubIssuer issues the tokens of GitHub Actions.
const GitHubIssuer = "https://token.actions.githubusercontent.com"

// LoginGitHubActions exchanges the token of a workflow.
func (o *Outside) LoginGitHubActions(ctx context.Context, p *Provider, token string) (registry.Grant, error) {
	if o.GitHubOIDCAudience == "" {
		return registry.Grant{}, refuse("this registry has no audience for tokens of GitHub Actions")
	}
	var claims struct {
		Owner string `json:"repository_owner"`
	}
	subject, err := p.verify(ctx, token, &claims)
	if err != nil {
		return registry.Grant{}, err
	}
	if !registry.IsGitHubName(claims.Owner) {
		return registry.Grant{}, refuse("the token names no owner of a repository")
	}
	names := []registry.Permission{{Action: registry.ActionPublish, Resource: "io.github." + claims.Owner + "/*"}}
	return registry.Grant{Method: registry.MethodGitHubOIDC, Subject: subject, Permissions: names}, nil
}

// GitHubActions is the provider of the tokens of GitHub Actions.
func (o *Outside) GitHubActions() *Provider {
	return &Provider{Issuer: cmp.Or(o.GitHubOIDC, GitHubIssuer), Audience: o.GitHubOIDCAudience, HTTP: o.HTTP}
}
