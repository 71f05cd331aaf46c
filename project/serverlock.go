package project

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
)

// ServerLock is the entry of one server.
type ServerLock struct {
	Source    ServerKind               `json:"source"`
	Record    *RecordLock              `json:"record,omitempty"`
	Launch    LaunchLock               `json:"launch"`
	Ref       string                   `json:"ref"` // the server's own artifact; of "http" its URL, which has none
	Artifacts map[string]digest.Digest `json:"artifacts"`
	Entry     string                   `json:"entry,omitempty"` // what of the artifact is started; see the kinds
	// Runtime is what starts an artifact, as its server.json says; other kinds have none.
	Runtime   string       `json:"runtime,omitempty"`
	Arguments []string     `json:"arguments"` // that the server gets
	Variables []string     `json:"variables"` // names of those that it gets from the environment
	Closure   *ClosureLock `json:"closure,omitempty"`
	// "host/repository:tag"; "" if a digest is declared
	Image        string                   `json:"image,omitempty"`
	Digest       digest.Digest            `json:"digest,omitzero"`     // of the image's manifest or index
	Platforms    map[string]digest.Digest `json:"platforms,omitempty"` // the manifests of an index: "linux/amd64"
	APISurface   digest.Digest            `json:"api_surface"`
	Surface      digest.Digest            `json:"surface"`
	SurfaceItems map[string]digest.Digest `json:"surface_items"` // by key: "tool:name"
	// Varying are the keys, sorted, of items that differ from start to start. They have no digest, so that the guard
	// withholds them.
	Varying []string `json:"surface_varying,omitempty"`
}

// ClosureLock is the resolved dependency closure of a package.
type ClosureLock struct {
	Engine string        `json:"engine"` // what resolved it: "npm", "uv", "pip" or "go"
	Lock   digest.Digest `json:"lock"`   // of hallmark.closures/NAME.json
	// Scripts are the packages of npm whose install scripts are run: "npm:name@version",
	// sorted. What they make is in the trees.
	Scripts []string `json:"scripts,omitempty"`
	// Trees are the installed trees by platform: "linux/amd64+node20", "linux/amd64+go1.26.2",
	// "linux/amd64+cp311-cp311-manylinux_2_36_x86_64".
	Trees map[string]digest.Digest `json:"trees"`
}

// Origin is the digest of what the trees of a closure follow from: its packages, and the install scripts that run.
func (c ClosureLock) Origin() digest.Digest {
	h := digest.NewHasher()
	fmt.Fprintf(h, "hallmark-closure-v1\n%s\n%q\n", c.Lock, c.Scripts)
	return h.Digest(digest.SHA256)
}

// ClosureSubject, and the functions below, are the subjects under which a server's parts
// are judged, and must be admitted for [Lock.Add].
func ClosureSubject(server string) string { return ClosuresDir + "/" + server + ".json" }

// SurfaceFile is the file of a server's surface, relative to the project.
func SurfaceFile(server string) string { return SurfacesDir + "/" + server + ".json" }

// TreeSubject names the installed tree of a server on a platform.
func TreeSubject(server, platform string) string { return server + " (" + platform + ")" }

// SurfaceSubject names the surface of a server.
func SurfaceSubject(server string) string { return "surface of " + server }
