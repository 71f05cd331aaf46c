package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Login exchanges a proof for a token. The proof is encoded as JSON: an [registry.Proof],
// or a map with github_token or oidc_token; nil sends nothing.
func (c *Client) Login(ctx context.Context, m registry.LoginMethod, proof any) (*registry.Session, error) {
	var body []byte
	if proof != nil {
		var err error
		if body, err = json.Marshal(proof); err != nil {
			return nil, err
		}
	}
	var s registry.Session
	if err := c.do(ctx, request{method: http.MethodPost, path: "/auth/" + string(m), body: body}, &s); err != nil {
		return nil, err
	}
	if s.Token == "" {
		return nil, fmt.Errorf("registry %s: the answer to the login has no token", c.Base)
	}
	return &s, nil
}

// GitHubClient asks for the id of the OAuth application to log in to GitHub with; it is
// empty if the registry has none.
func (c *Client) GitHubClient(ctx context.Context) (string, error) {
	var h struct {
		ID string `json:"github_client_id"`
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "/health"}, &h)
	return h.ID, err
}

// StatusChange is the status that versions are to get.
type StatusChange struct {
	Status  registry.Status
	Message string // for users of the versions; may be empty
	Token   string // of the publisher; may be empty
}

// SetStatus changes the status of one version.
func (c *Client) SetStatus(
	ctx context.Context, name, version string, change StatusChange,
) (*registry.Envelope, error) {
	if version == "" {
		return nil, errors.New("no version")
	}
	path, err := escapePath("servers", name, "versions", version, "status")
	if err != nil {
		return nil, err
	}
	var env registry.Envelope
	if err := c.patch(ctx, path, change, &env); err != nil {
		return nil, err
	}
	return &env, c.expect(env, name, version)
}

// SetAllStatuses changes the status of all versions of a name and returns how many.
func (c *Client) SetAllStatuses(
	ctx context.Context, name string, change StatusChange,
) (int, error) {
	path, err := escapePath("servers", name, "status")
	if err != nil {
		return 0, err
	}
	var u struct {
		UpdatedCount int `json:"updatedCount"`
	}
	err = c.patch(ctx, path, change, &u)
	return u.UpdatedCount, err
}

// patch sends a change of status to path, and decodes the answer into out.
func (c *Client) patch(ctx context.Context, path string, change StatusChange, out any) error {
	content := registry.StatusBody{Status: change.Status}
	if change.Message != "" {
		content.Message = &change.Message
	}
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return c.do(ctx, request{method: http.MethodPatch, path: path, body: body, token: change.Token}, out)
}
