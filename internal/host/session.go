package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Session is a stored login: a token, and the registry that accepts it. Its file has the members
// of the official client's, and expires_at besides.
type Session struct {
	Token    string `json:"token"`
	Method   string `json:"method"` // of the login, as the command names it
	Registry string `json:"registry"`
	Expires  int64  `json:"expires_at,omitempty"` // seconds since 1970; 0 if it is not known
}

// OfficialRegistry is the URL that the official client logs in to by default.
const OfficialRegistry = "https://registry.modelcontextprotocol.io"

// maxSession bounds a session's file, in bytes.
const maxSession = 64 << 10

// sessionFile is the file of our session, readable by this user alone.
func sessionFile(h *Host) string { return filepath.Join(h.Places.State, "login.json") }

// officialSessionFile is the file of the official client's session, "" without a home directory.
func officialSessionFile(h *Host) string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := h.Getenv(name); filepath.IsAbs(home) {
			return filepath.Join(home, ".config", "mcp-publisher", "token.json")
		}
	}
	return ""
}

// CurrentSession returns our stored session, else the official client's, else nil.
func CurrentSession(h *Host) (*Session, error) {
	for _, path := range []string{sessionFile(h), officialSessionFile(h)} {
		if path == "" {
			continue
		}
		data, err := ReadFile(path, maxSession)
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue
		}
		s := new(Session)
		if err := surface.DecodeKnown(data, s); err != nil || s.Token == "" {
			return nil, evidence.Errorf(evidence.Validation, path, "log in again", errors.New("is no login"))
		}
		s.Registry = cmp.Or(s.Registry, OfficialRegistry)
		return s, nil
	}
	return nil, nil
}

// TokenFor returns the session's token if base is the registry of its login, else "": a token must
// not be sent to another registry. It fails if the token has expired.
func TokenFor(h *Host, s *Session, base string) (string, error) {
	if s == nil || !strings.EqualFold(strings.TrimRight(s.Registry, "/"), strings.TrimRight(base, "/")) {
		return "", nil
	}
	if s.Expires != 0 && !h.Now().Before(time.Unix(s.Expires, 0)) {
		return "", evidence.Errorf(evidence.Refused, "login", "log in again: a token is valid for "+
			formatMinutes(registry.Lifetime),
			fmt.Errorf("the token for %s has expired", s.Registry))
	}
	return s.Token, nil
}

// formatMinutes writes a duration as whole minutes.
func formatMinutes(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d.Minutes())) }

// Save stores s as our session.
func (s *Session) Save(ctx context.Context, h *Host) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.Places.State, 0o700); err != nil {
		return evidence.Errorf(evidence.Operation, h.Places.State, "", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return durable.WriteFile(sessionFile(h), append(data, '\n'), 0o600)
}

// Logout removes our session and that of the official client, which would be used in its place.
// It returns the files that it removed.
func Logout(h *Host) ([]string, error) {
	var removed []string
	for _, path := range []string{sessionFile(h), officialSessionFile(h)} {
		if path == "" {
			continue
		}
		switch err := os.Remove(path); {
		case err == nil:
			removed = append(removed, path)
		case !errors.Is(err, fs.ErrNotExist):
			return removed, evidence.Errorf(evidence.Operation, path, "", err)
		}
	}
	return removed, nil
}
