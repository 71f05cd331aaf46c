package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// Without a person who agrees nothing is sent: the error is a refusal that names the option, in
// plain text whatever the checkout wrote.
func TestNobodyAgreed(t *testing.T) {
	host := HostUse{Host: "x.example.com\x1b", File: "hallmark.toml\n, [registry] url"}
	variable := VariableUse{Variable: "TOKEN", Host: "x.example.com\x1b", File: ".npmrc\r"}
	for _, a := range []*Agreement{nil, {}} {
		for says, err := range map[string]error{
			"--allow-host x.example.com":      a.CheckHost(host),
			"--allow-env TOKEN=x.example.com": a.CheckVariable(variable),
		} {
			var e *evidence.Error
			if NotAgreed(fmt.Errorf("fetching: %w", err)) == nil || !errors.As(err, &e) || e.Kind != evidence.Refused ||
				!strings.Contains(e.Hint, says) || strings.ContainsAny(e.Error()+e.Hint, "\x1b\r") {
				t.Errorf("%v: %+q", a, err)
			}
		}
	}
	other := evidence.Errorf(evidence.Refused, "x", "", errors.New("nobody agreed to that; nothing was sent"))
	if NotAgreed(other) != nil || NotAgreed(nil) != nil {
		t.Error("another refusal is taken for a missing consent")
	}
	agreed := &Agreement{Ask: func(VariableUse) error { return nil }, AskHost: func(u HostUse) error {
		if u != host {
			t.Errorf("asked about %+v", u)
		}
		return nil
	}}
	if err := errors.Join(agreed.CheckHost(host), agreed.CheckVariable(variable)); err != nil {
		t.Error(err)
	}
}

// A refusal of several hosts has an option for each, and says which file names which.
func TestRefusalOfSeveral(t *testing.T) {
	err := Refusal(HostUse{Host: "a.example.com", File: "hallmark.toml"},
		HostUse{Host: "b.example.com", File: "hallmark.toml"}, HostUse{Host: "c.example.com:8443", File: ".npmrc"})
	var e *evidence.Error
	if !errors.As(err, &e) || e.Subject != "hallmark.toml" ||
		!strings.HasSuffix(e.Hint, "--allow-host a.example.com --allow-host b.example.com "+
			"--allow-host c.example.com:8443") ||
		!strings.Contains(e.Error(), "wants a.example.com, b.example.com, c.example.com:8443 (.npmrc) asked") {
		t.Errorf("%v: %+v", err, e)
	}
}

// Who named a host decides: the user's hosts are asked, a checkout's only with consent, and what a
// checkout names besides does not become the user's.
func TestHosts(t *testing.T) {
	var n Named
	n.Add("https://User.example.com/npm/", artifact.NPM, "")
	n.Add("https://theirs.example.com/", artifact.NPM, ".npmrc, registry")
	n.Add("https://theirs.example.com:443/x", artifact.PyPI, "uv.toml, index") // the first file is told
	n.Add("sparse+https://crates.example.com/", artifact.Cargo, ".cargo/config.toml")
	n.Add("https://both.example.com/", artifact.NPM, ".npmrc, registry")
	n.Add("https://both.example.com/", artifact.NPM, "")
	for _, nothing := range []string{"", "no host", "https://"} {
		n.Add(nothing, artifact.NPM, "x")
	}
	h := NewHosts(n, nil, false)
	h.AllowConfigured("configured.example.com", "theirs.example.com", "")
	for host, c := range map[string]struct {
		by   Naming
		file string // that the refusal names; "" if the host is asked
	}{
		"https://user.example.com":       {ByRef, ""},
		"https://USER.example.com:443":   {ByRef, ""},
		"https://user.example.com:8443":  {ByRef, "https://user.example.com:8443"},
		"http://user.example.com":        {ByRef, "http://user.example.com"},
		"https://configured.example.com": {ByRef, ""},
		"https://both.example.com":       {ByConfig, ""},
		"https://theirs.example.com":     {ByConfig, ".npmrc, registry"},
		"https://crates.example.com":     {ByConfig, ".cargo/config.toml"},
		"https://other.example.com":      {ByConfig, ""},
		"https://other.example.com/?t=s": {ByRef, "https://other.example.com/"},
	} {
		u, err := url.Parse(host)
		if err != nil {
			t.Fatal(err)
		}
		err = h.Check(u, c.by)
		var e *evidence.Error
		if errors.As(err, &e) != (c.file != "") || c.file != "" && e.Subject != c.file {
			t.Errorf("%s: %v", host, err)
		}
		if h.Check(u, ByAnswer) != nil || NewHosts(n, nil, true).Check(u, ByRef) != nil {
			t.Errorf("%s is refused as an answer, or where all hosts are allowed", host)
		}
	}
	if uses := h.OfCheckout(artifact.NPM); len(uses) != 1 || uses[0].Host != "theirs.example.com" {
		t.Errorf("only the checkout names %v", uses)
	}
	with := h.With("theirs.example.com")
	if !with.Names("theirs.example.com") || h.Names("theirs.example.com") || len(with.OfCheckout(artifact.NPM)) != 0 {
		t.Error("what a copy allows is allowed for all, or not at all")
	}
}
