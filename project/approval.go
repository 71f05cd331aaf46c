package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Approvals is what was approved on this machine for one project. A checkout may bring
// a lock along, but not this file: it lies in the user's state directory.
type Approvals struct {
	Version int                 `json:"approvals_version"`
	Project string              `json:"project"` // the directory, all links resolved
	Servers map[string]Approval `json:"servers"`
}

// Approval is what was approved of one server.
type Approval struct {
	Entry   digest.Digest `json:"entry"`             // see [ServerLock.Approvable]
	Path    string        `json:"path"`              // PATH for the server, as it was at approval
	Runtime *Runtime      `json:"runtime,omitempty"` // the interpreter, if there is one
	// Trees are the installed trees by platform, as this machine made them from the
	// closure: the trees of a lock follow from the closure, but a lock only says so.
	Trees map[string]digest.Digest `json:"trees,omitempty"`
	At    time.Time                `json:"at"`
}

// Runtime is the interpreter of a package on this machine.
type Runtime struct {
	Path    string        `json:"path"`
	Digest  digest.Digest `json:"digest"`
	Version string        `json:"version"` // node's major version, "20"; the tag of the wheels that fit python best
}

const approvalsVersion = 1

// MaxApprovals bounds the file, in bytes.
const MaxApprovals = 16 << 20

// ParseApprovals reads the file of a project; nil data gives an empty one. A file of
// another project is an error: it was copied.
func ParseApprovals(data []byte, project string) (*Approvals, error) {
	a := &Approvals{Version: approvalsVersion, Project: project, Servers: map[string]Approval{}}
	if data == nil {
		return a, nil
	}
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxApprovals, Depth: 8}); err != nil {
		return nil, err
	}
	var read Approvals
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return nil, err
	}
	if read.Version != approvalsVersion {
		return nil, fmt.Errorf("approvals_version is %d; this build reads %d", read.Version, approvalsVersion)
	}
	if read.Project != project {
		return nil, errors.New("holds the approvals of another project")
	}
	if read.Servers != nil {
		a.Servers = read.Servers
	}
	return a, nil
}

// Encode is the file's JSON.
func (a *Approvals) Encode() ([]byte, error) { return indented(a) }

// Approvable is the digest of all that a person approves with an entry: everything but
// installed trees, which each machine makes from the closure, the time, and the proof
// that the record is in a log, which is verified and is another one as the log grows.
func (s ServerLock) Approvable() digest.Digest {
	shown := s
	shown.ApprovedAt = time.Time{}
	if s.Closure != nil {
		shown.Closure = &ClosureLock{Engine: s.Closure.Engine, Lock: s.Closure.Lock, Scripts: s.Closure.Scripts}
	}
	if s.Record != nil {
		r := *s.Record
		r.Proof = ""
		shown.Record = &r
	}
	plain, err := marshal(shown)
	if err == nil {
		plain, err = surface.Canonical(plain, ownLimits)
	}
	if err != nil {
		panic(err) // strings and digests only
	}
	return digest.FromBytes(plain)
}

// Consent is the digest that an approval is bound to: the entry and the interpreter
// that this machine would start it with.
func Consent(s ServerLock, r *Runtime) digest.Digest {
	h := digest.NewHasher()
	fmt.Fprintf(h, "hallmark-consent-v1\n%s\n", s.Approvable())
	if r != nil {
		fmt.Fprintf(h, "%q %s %q\n", r.Path, r.Digest, r.Version)
	}
	return h.Digest(digest.SHA256)
}
