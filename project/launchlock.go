package project

import (
	"path"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// LaunchLock is how the server was declared when it was accepted: all of its table,
// so that nothing which weakens the guard changes without being accepted.
type LaunchLock struct {
	Command   string            `json:"command,omitempty"`
	Server    string            `json:"server,omitempty"`
	Source    string            `json:"source,omitempty"`
	Facet     string            `json:"facet,omitempty"`
	Arguments []string          `json:"arguments"`
	Variables []string          `json:"variables"`
	Kinds     []string          `json:"surface_kinds,omitempty"`
	OnDrift   string            `json:"on_drift"`
	URL       string            `json:"url,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`         // as declared: names of variables, not their values
	Requests  string            `json:"server_requests,omitempty"` // "" is "allow"
	Unlocked  bool              `json:"unlocked,omitempty"`
	Extra     string            `json:"extra_arguments,omitempty"`
	Verify    *VerifyLock       `json:"verify,omitempty"`
	Tree      string            `json:"tree,omitempty"`
	Data      []string          `json:"data,omitempty"`

	Environment map[string]string `json:"environment,omitempty"`
}

// TreeKey is the name among an entry's artifacts of dir, the directory that a launch line has as its tree.
func TreeKey(dir string) string { return "tree:" + path.Clean(dir) }

// VerifyLock is a verify block as it was declared.
type VerifyLock struct {
	Type  VerifyType               `json:"type"`
	Files map[string]digest.Digest `json:"files,omitempty"` // by path; "" is the command
}

// Launch is how s is declared.
func (s Server) Launch() LaunchLock {
	l := LaunchLock{
		Command: s.Command, Server: s.Record, Source: s.Source, Facet: s.Facet,
		Arguments: s.Arguments, Variables: s.Variables,
		Kinds: s.Kinds, OnDrift: s.OnDrift, URL: s.URL, Headers: s.Headers, Environment: s.Environment,
		Unlocked: s.Unlocked, Extra: s.Extra, Tree: s.Tree, Data: s.Data,
	}
	if s.Requests != "allow" {
		l.Requests = s.Requests
	}
	if s.Verify != nil {
		l.Verify = &VerifyLock{Type: s.Verify.Type}
		for _, c := range s.Verify.Claims {
			if l.Verify.Files == nil {
				l.Verify.Files = map[string]digest.Digest{}
			}
			l.Verify.Files[c.Path] = c.Want
		}
	}
	if l.Arguments == nil {
		l.Arguments = []string{}
	}
	if l.Variables == nil {
		l.Variables = []string{}
	}
	return l
}

// Digest is the sha256 of the canonical JSON of l.
func (l LaunchLock) Digest() digest.Digest { return machine.CanonicalDigest(l) }
