package publish

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/surface"
)

// LoginOptions are for [Login].
type LoginOptions struct {
	Registry *client.Client
	Method   string // github, github-oidc, dns, http or none

	Domain string             // for dns and http
	Key    *registry.ProofKey // for dns and http

	GitHubToken string // for github; "" asks a person to authorize this program
	GitHub      string // base URL of GitHub; "" is the public one

	Tell func(line string) // shows a person what to know or do
}

// Login gets a token from a registry and stores it for later commands.
func Login(ctx context.Context, h *host.Host, o LoginOptions) (*host.Session, error) {
	where := "login " + o.Method
	method, proof, err := proveIdentity(ctx, h, o, where)
	if err != nil {
		return nil, err
	}
	got, err := o.Registry.Login(ctx, method, proof)
	if err != nil {
		return nil, explainLogin(where, err)
	}
	s := &host.Session{Token: got.Token, Method: o.Method, Registry: strings.TrimRight(o.Registry.Base, "/"),
		Expires: got.ExpiresAt}
	return s, s.Save(ctx, h)
}

// proveIdentity returns what a login sends to the registry: the method, and the proof of who logs in. Where is the
// subject of its errors.
func proveIdentity(ctx context.Context, h *host.Host, o LoginOptions,
	where string) (method registry.LoginMethod, proof any, err error) {
	switch o.Method {
	case "none":
		return registry.MethodNone, nil, nil
	case "dns", "http":
		if o.Domain == "" || o.Key == nil {
			return "", nil, evidence.Errorf(evidence.Validation, where, "",
				errors.New("needs a domain and a private key"))
		}
		method = registry.LoginMethod(o.Method)
		place := "a TXT record of " + o.Domain
		if method == registry.MethodHTTP {
			place = "https://" + o.Domain + "/.well-known/mcp-registry-auth"
		}
		o.Tell(fmt.Sprintf("%s must hold:\n  %s", surface.Escape(place), o.Key.Record()))
		p, err := o.Key.Prove(o.Domain, h.Now())
		if err != nil {
			return "", nil, evidence.Errorf(evidence.Operation, where, "", err)
		}
		return method, p, nil
	case "github":
		token := o.GitHubToken
		if token == "" {
			if token, err = authorizeDevice(ctx, h, o); err != nil {
				return "", nil, evidence.Errorf(evidence.ClassOf(err), where, "", err)
			}
		}
		return registry.MethodGitHubAT, map[string]string{"github_token": token}, nil
	case "github-oidc":
		token, err := workflowToken(ctx, h, o.Registry.Base)
		if err != nil {
			return "", nil, evidence.Errorf(evidence.ClassOf(err), where, "", err)
		}
		return registry.MethodGitHubOIDC, map[string]string{"oidc_token": token}, nil
	}
	return "", nil, evidence.Errorf(evidence.Validation, where,
		"the methods are github, github-oidc, dns, http and none", errors.New("there is no such method"))
}

// explainLogin adds a class to the error of a login. A registry need not offer every method, so 404
// is a refusal.
func explainLogin(where string, err error) error {
	var p *registry.Problem
	if !errors.As(err, &p) {
		return evidence.Errorf(evidence.ClassOf(err), where, client.HintUnanswered(err), err)
	}
	return evidence.Errorf(client.ClassOf(p, evidence.Refused), where, "", p)
}

// maxLoginAnswer bounds an answer to a login, in bytes.
const maxLoginAnswer = 1 << 20

// sendRequest sends one request of a login to a service other than the registry, and decodes its
// JSON answer. An answer with none of the statuses is a statusError.
func sendRequest(req *http.Request, out any, statuses ...int) error {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "hallmark")
	client := http.Client{
		Timeout: 30 * time.Second,
		// The request carries a secret, which no other host may get.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxLoginAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", surface.Escape(req.URL.Host), err)
	}
	if !slices.Contains(statuses, res.StatusCode) {
		return &statusError{req.URL.Host, res.StatusCode}
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s answers no JSON", surface.Escape(req.URL.Host))
	}
	return nil
}

// statusError is an answer with an unexpected status.
type statusError struct {
	host   string
	status int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answers %d", surface.Escape(e.host), e.status)
}

// parseSecureURL parses a URL, and fails unless a secret may be sent there: by https, or to this
// machine.
func parseSecureURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && artifact.IsLoopback(u.Hostname())) {
		return nil, fmt.Errorf("%+.100q is not https", raw)
	}
	return u, nil
}

// workflowToken asks GitHub Actions, where the program runs, for a token that only the registry at
// base accepts.
func workflowToken(ctx context.Context, h *host.Host, base string) (string, error) {
	where, secret := h.Getenv("ACTIONS_ID_TOKEN_REQUEST_URL"), h.Getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	if where == "" || secret == "" {
		return "", &evidence.Error{Kind: evidence.Validation,
			Err:  errors.New("this is no workflow of GitHub Actions that may have a token"),
			Hint: "give the job the permission 'id-token: write'"}
	}
	u, err := parseSecureURL(where)
	if err != nil {
		return "", fmt.Errorf("ACTIONS_ID_TOKEN_REQUEST_URL: %w", err)
	}
	registryURL, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("audience", registryURL.Scheme+"://"+strings.ToLower(registryURL.Host))
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	var answer struct{ Value string }
	if err := sendRequest(req, &answer, http.StatusOK); err != nil {
		return "", err
	}
	if answer.Value == "" {
		return "", errors.New("GitHub Actions gave no token")
	}
	return answer.Value, nil
}

// Limits of GitHub's device flow (RFC 8628); times are in seconds.
const (
	devicePause      = 5
	deviceMaxPause   = 60
	deviceTime       = 900
	deviceMaxTime    = 3600
	deviceGrantType  = "urn:ietf:params:oauth:grant-type:device_code"
	deviceScope      = "read:org read:user"
	deviceStrayPolls = 2 // GitHub sometimes calls a new code incorrect
)

// authorizeDevice asks a person to authorize this program at GitHub, and returns the token.
func authorizeDevice(ctx context.Context, h *host.Host, o LoginOptions) (string, error) {
	id, err := o.Registry.GitHubClient(ctx)
	if err != nil {
		return "", evidence.Errorf(evidence.ClassOf(err), "", client.HintUnanswered(err), err)
	}
	if id == "" {
		return "", &evidence.Error{Kind: evidence.Refused,
			Err:  errors.New("the registry names no application to log in to GitHub with"),
			Hint: "give a token of GitHub with --token or in MCP_GITHUB_TOKEN"}
	}
	base, err := parseSecureURL(cmp.Or(o.GitHub, model.RegistryURLGitHub))
	if err != nil {
		return "", err
	}
	device, err := requestDeviceCode(ctx, base, id)
	if err != nil {
		return "", err
	}
	o.Tell(fmt.Sprintf("open %s\nand enter the code %s", surface.Escape(device.Address), surface.Escape(device.User)))
	return pollDevice(ctx, h, base, id, device)
}

// deviceCode is a code that a person enters at GitHub.
type deviceCode struct {
	Code    string `json:"device_code"`
	User    string `json:"user_code"`
	Address string `json:"verification_uri"`
	Expires int    `json:"expires_in"`
	Pause   int    `json:"interval"`
}

// requestDeviceCode asks GitHub at base for a code for the application id.
func requestDeviceCode(ctx context.Context, base *url.URL, id string) (device deviceCode, err error) {
	if err := postJSON(ctx, base.JoinPath("login/device/code"),
		map[string]string{"client_id": id, "scope": deviceScope}, &device, http.StatusOK); err != nil {
		return device, err
	}
	if device.Code == "" || device.User == "" {
		return device, errors.New("GitHub gave no code")
	}
	return device, nil
}

// pollDevice asks GitHub until a person has entered the code, and returns the token.
func pollDevice(ctx context.Context, h *host.Host, base *url.URL, id string, device deviceCode) (string, error) {
	pause := min(max(cmp.Or(device.Pause, devicePause), 1), deviceMaxPause)
	end := h.Now().Add(time.Duration(min(max(cmp.Or(device.Expires, deviceTime), 1), deviceMaxTime)) * time.Second)
	for strays := 0; h.Now().Before(end); {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Duration(pause) * time.Second):
		}
		var answer struct {
			Token string `json:"access_token"`
			Error string `json:"error"`
		}
		err := postJSON(ctx, base.JoinPath("login/oauth/access_token"),
			map[string]string{"client_id": id, "device_code": device.Code,
				"grant_type": deviceGrantType}, &answer, http.StatusOK, http.StatusBadRequest)
		var status *statusError
		switch {
		case errors.As(err, &status) && status.status >= 500:
			pause = min(pause+devicePause, deviceMaxPause) // the person may have agreed already
		case err != nil:
			return "", err
		case answer.Token != "":
			return answer.Token, nil
		case answer.Error == "authorization_pending":
		case answer.Error == "slow_down":
			pause = min(pause+devicePause, deviceMaxPause)
		case answer.Error == "incorrect_device_code" && strays < deviceStrayPolls:
			strays++
		case answer.Error == "access_denied":
			return "", evidence.Errorf(evidence.Refused, "GitHub", "", errors.New("this program was not let in"))
		default:
			return "", fmt.Errorf("GitHub: %+.100q", answer.Error)
		}
	}
	return "", evidence.Errorf(evidence.Refused, "GitHub", "log in again",
		errors.New("nobody entered the code in time"))
}

// postJSON posts a JSON object, and decodes the answer.
func postJSON(ctx context.Context, u *url.URL, body map[string]string, out any, statuses ...int) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return sendRequest(req, out, statuses...)
}
