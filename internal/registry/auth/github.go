package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"
)

const (
	githubTime    = 20 * time.Second
	githubPage    = 100 // organisations; GitHub's maximum
	githubPages   = 20
	maxGitHubPage = 2 << 20 // bytes
)

var githubName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9-]{1,100}$`)
})

// GitHubAPI is the base URL of the public API of GitHub.
func GitHubAPI() string {
	u, err := url.Parse(model.RegistryURLGitHub)
	if err != nil {
		return ""
	}
	u.Host = "api." + u.Host
	return u.String()
}

// LoginGitHub exchanges a GitHub access token. An organisation's names are for its
// owners, as a member may be anybody who was let in to one repository.
func (o *Outside) LoginGitHub(ctx context.Context, token string) (Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, githubTime)
	defer cancel()
	status, body, err := o.get(ctx, o.GitHubAPI+"/user", githubJSON, token, maxGitHubPage)
	if err != nil {
		return Grant{}, fmt.Errorf("GitHub: %w", err)
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return Grant{}, refuse("GitHub does not take the token")
	}
	var user struct{ Login string }
	if status != http.StatusOK || json.Unmarshal(body, &user) != nil {
		return Grant{}, fmt.Errorf("GitHub: answered %d about the user", status)
	}
	if !githubName().MatchString(user.Login) {
		return Grant{}, refuse("GitHub calls the user by a name that no server can have")
	}
	g := Grant{Method: GitHubAT, Subject: user.Login, Permissions: []Permission{{Publish, "io.github." + user.Login + "/*"}}}
	owned, err := o.organisations(ctx, token)
	if err != nil {
		return Grant{}, err
	}
	for _, login := range owned {
		g.Permissions = append(g.Permissions, Permission{Publish, "io.github." + login + "/*"})
	}
	return g, nil
}

const githubJSON = "application/vnd.github+json"

// organisations are those that the bearer of token owns. A token that may not read them
// has none; everything else that goes wrong is an error, as otherwise an owner would be
// told that the name belongs to somebody else.
func (o *Outside) organisations(ctx context.Context, token string) ([]string, error) {
	var owned []string
	for page := 1; page <= githubPages; page++ {
		url := fmt.Sprintf("%s/user/memberships/orgs?state=active&per_page=%d&page=%d", o.GitHubAPI, githubPage, page)
		status, body, header, err := o.request(ctx, url, githubJSON, token, maxGitHubPage)
		if err != nil {
			return nil, fmt.Errorf("GitHub: %w", err)
		}
		if status == http.StatusForbidden {
			switch {
			case header.Get("X-RateLimit-Remaining") == "0" || header.Get("Retry-After") != "":
				return nil, fmt.Errorf("GitHub: its limit of requests is reached")
			case header.Get("X-GitHub-SSO") != "":
				return nil, refuse("GitHub wants the token to be authorised for single sign-on")
			}
			return nil, nil
		}
		var members []struct {
			State, Role  string
			Organization struct{ Login string }
		}
		if status != http.StatusOK || json.Unmarshal(body, &members) != nil {
			return nil, fmt.Errorf("GitHub: answered %d about organisations", status)
		}
		for _, m := range members {
			if m.State == "active" && m.Role == "admin" && githubName().MatchString(m.Organization.Login) {
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
func (o *Outside) LoginGitHubActions(ctx context.Context, p *Provider, token string) (Grant, error) {
	if o.GitHubOIDCAudience == "" {
		return Grant{}, refuse("this registry has no audience for tokens of GitHub Actions")
	}
	var claims struct {
		Owner string `json:"repository_owner"`
	}
	subject, err := p.verify(ctx, token, &claims)
	if err != nil {
		return Grant{}, err
	}
	if !githubName().MatchString(claims.Owner) {
		return Grant{}, refuse("the token names no owner of a repository")
	}
	return Grant{Method: GitHubOIDC, Subject: subject, Permissions: []Permission{{Publish, "io.github." + claims.Owner + "/*"}}}, nil
}

// GitHubActions is the provider of the tokens of GitHub Actions.
func (o *Outside) GitHubActions() *Provider {
	return &Provider{Issuer: cmp.Or(o.GitHubOIDC, GitHubIssuer), Audience: o.GitHubOIDCAudience, HTTP: o.HTTP}
}

// RepositoryID asks GitHub's API for the number of a repository, which stays when it is
// renamed. The token may be empty.
func (o *Outside) RepositoryID(ctx context.Context, owner, name, token string) (string, error) {
	if !githubName().MatchString(owner) || !repositoryName().MatchString(name) {
		return "", fmt.Errorf("%+q is no repository of GitHub", owner+"/"+name)
	}
	status, body, err := o.get(ctx, o.GitHubAPI+"/repos/"+owner+"/"+name, githubJSON, token, maxGitHubPage)
	if err != nil {
		return "", fmt.Errorf("GitHub: %w", err)
	}
	var repository struct{ ID int64 }
	if status != http.StatusOK || json.Unmarshal(body, &repository) != nil || repository.ID <= 0 {
		return "", fmt.Errorf("GitHub: answered %d about the repository", status)
	}
	return strconv.FormatInt(repository.ID, 10), nil
}

var repositoryName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9._-]{1,100}$`)
})
