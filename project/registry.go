package project

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// Registry is the [registry] table.
type Registry struct {
	URL       string
	LogKey    string        // "": the key that this machine saw first
	Witnesses []string      // verifier keys
	Quorum    int           // of witnesses that must have cosigned
	MaxAge    time.Duration // of the cosignatures that make the quorum; 0: any
}

// Name is the registry as locks and this machine's state name it: its host, with the
// path if it has one. "" if there is none.
func (r Registry) Name() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return ""
	}
	return u.Host + strings.TrimRight(u.EscapedPath(), "/")
}

// Trust is how the log of that key is relied on.
func (r Registry) Trust(key string) (ledger.Trust, error) {
	return ledger.NewTrust(key, r.Witnesses, r.Quorum)
}

// registryTOML is the table as TOML holds it.
type registryTOML struct {
	URL       string   `toml:"url"`
	LogKey    string   `toml:"log_key"`
	Witnesses []string `toml:"witnesses"`
	Quorum    int      `toml:"witness_quorum"`
	MaxAge    string   `toml:"max_age"`
}

// registry checks the table. Whether the keys belong to the log is found out when it
// is read.
func (raw registryTOML) registry() (Registry, error) {
	r := Registry{URL: raw.URL, LogKey: raw.LogKey, Witnesses: raw.Witnesses, Quorum: raw.Quorum}
	if u, err := url.Parse(raw.URL); raw.URL != "" && (err != nil || u.Host == "") {
		return r, errors.New("url is no URL such as https://registry.example.com")
	}
	if raw.LogKey != "" {
		if _, err := ledger.ParseVerifier(raw.LogKey); err != nil {
			return r, fmt.Errorf("log_key: %w", err)
		}
	}
	if _, err := ledger.ParseWitnesses(raw.Witnesses, raw.Quorum); err != nil {
		return r, fmt.Errorf("witnesses: %w", err)
	}
	if raw.MaxAge != "" {
		var err error
		if r.MaxAge, err = time.ParseDuration(raw.MaxAge); err != nil || r.MaxAge <= 0 {
			return r, fmt.Errorf("max_age is %q; it is a span such as \"72h\"", raw.MaxAge)
		}
	}
	if raw.URL == "" && (raw.LogKey != "" || len(raw.Witnesses) > 0 || raw.MaxAge != "") {
		return r, errors.New("has rules for a log, and no url")
	}
	return r, nil
}
