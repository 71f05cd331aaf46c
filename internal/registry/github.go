package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// maxAnswer is the most that is read of an answer, in bytes.
const maxAnswer = 2 << 20

// GitHubURL is the base URL of the public API of GitHub.
func GitHubURL() string {
	u, err := url.Parse(model.RegistryURLGitHub)
	if err != nil {
		return ""
	}
	u.Host = "api." + u.Host
	return u.String()
}

// GitHub is how GitHub is asked.
type GitHub struct {
	HTTP *http.Client // its redirect policy is not used
	URL  string       // base URL, without a slash at the end
}

// GitHubAnswer is what the API answered, whatever its status is.
type GitHubAnswer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Get requests a path of the API, with its query. The bearer token may be empty.
func (a GitHub) Get(ctx context.Context, path, token string) (GitHubAnswer, error) {
	answer, err := a.get(ctx, path, token)
	if err != nil {
		return GitHubAnswer{}, fmt.Errorf("GitHub: %w", err)
	}
	return answer, nil
}

func (a GitHub) get(ctx context.Context, path, token string) (GitHubAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+path, nil)
	if err != nil {
		return GitHubAnswer{}, err
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("User-Agent", "hallmark")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := *a.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return GitHubAnswer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return GitHubAnswer{Status: res.StatusCode, Header: res.Header, Body: body}, err
}

// IsGitHubName reports whether text can be the name of a user or an organisation.
func IsGitHubName(text string) bool { return ownerName().MatchString(text) }

var ownerName = spelling.Form(`^[a-zA-Z0-9-]{1,100}$`)

// RepositoryID asks for the number of a repository, which stays when it is renamed. The token may
// be empty.
func (a GitHub) RepositoryID(ctx context.Context, owner, name, token string) (string, error) {
	if !IsGitHubName(owner) || !repositoryName().MatchString(name) {
		return "", fmt.Errorf("%+q is no repository of GitHub", owner+"/"+name)
	}
	answer, err := a.Get(ctx, "/repos/"+owner+"/"+name, token)
	if err != nil {
		return "", err
	}
	var repository struct{ ID int64 }
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &repository) != nil || repository.ID <= 0 {
		return "", fmt.Errorf("GitHub: answered %d about the repository", answer.Status)
	}
	return strconv.FormatInt(repository.ID, 10), nil
}

var repositoryName = spelling.Form(`^[a-zA-Z0-9._-]{1,100}$`)
