package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// LockVersion is the lockfile_version that this build writes. It also reads version 1, which
// says less: it names no logs, so that a proof which was taken out of it is owed only if
// hallmark.toml or this machine knows of the log.
const LockVersion = 2

// MaxLock bounds hallmark.lock, in bytes.
const MaxLock = 64 << 20

// Lock is hallmark.lock: what this project has accepted. Its entries are made with
// [Lock.Add] and [Lock.AddFacet] only.
type Lock struct {
	version int // as it was read; 0 of one that is new
	servers map[string]ServerLock
	facets  map[string]FacetLock
	logs    map[string]string // by registry the origin of its log: entries of that registry owe a proof
}

// ServerLock is the entry of one server.
type ServerLock struct {
	Source       string                   `json:"source"` // "npm", "pypi", "go", "image", "artifact", "http" or "command"
	Record       *RecordLock              `json:"record,omitempty"`
	Launch       LaunchLock               `json:"launch"`
	Ref          string                   `json:"ref"` // the server's own artifact; of "http" its URL, which has none
	Artifacts    map[string]digest.Digest `json:"artifacts"`
	Entry        string                   `json:"entry,omitempty"`   // npm, artifact: the file that is started, inside the slot; pypi: "module:function"; go: the package that is built
	Runtime      string                   `json:"runtime,omitempty"` // artifact: what starts it, as its server.json says
	Arguments    []string                 `json:"arguments"`         // that the server gets
	Variables    []string                 `json:"variables"`         // names of those that it gets from the environment
	Closure      *ClosureLock             `json:"closure,omitempty"`
	Image        string                   `json:"image,omitempty"`     // "host/repository:tag", as it was resolved; "" if a digest is declared
	Digest       digest.Digest            `json:"digest,omitzero"`     // of the image's manifest or index
	Platforms    map[string]digest.Digest `json:"platforms,omitempty"` // the manifests of an index: "linux/amd64"
	APISurface   digest.Digest            `json:"api_surface"`
	Surface      digest.Digest            `json:"surface"`
	SurfaceItems map[string]digest.Digest `json:"surface_items"` // by key: "tool:name"
	ApprovedAt   time.Time                `json:"approved_at"`
}

// RecordLock says which record of which registry vouched for the artifact.
type RecordLock struct {
	Registry  string        `json:"registry"` // the registry's host, with its path if it has one
	Name      string        `json:"name"`
	Version   string        `json:"version"`
	Document  digest.Digest `json:"document"`        // of the canonical server.json
	Kind      ledger.Kind   `json:"-"`               // of what is recorded; empty is a server
	Integrity digest.Digest `json:"-"`               // of an archive: its content_integrity
	Proof     string        `json:"proof,omitempty"` // that it is in the registry's log, in the form of [ledger.Proof]; absent where there is no log
}

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

	Environment map[string]string `json:"environment,omitempty"`
}

// VerifyLock is a verify block as it was declared.
type VerifyLock struct {
	Type  VerifyType               `json:"type"`
	Files map[string]digest.Digest `json:"files,omitempty"` // by path; "" is the command
}

// ClosureLock is the resolved dependency closure of a package.
type ClosureLock struct {
	Engine string        `json:"engine"` // what resolved it: "npm", "uv", "pip" or "go"
	Lock   digest.Digest `json:"lock"`   // of hallmark.closures/NAME.json
	// Scripts are the packages of npm whose install scripts are run: "npm:name@version",
	// sorted. What they make is in the trees.
	Scripts []string                 `json:"scripts,omitempty"`
	Trees   map[string]digest.Digest `json:"trees"` // installed tree, by platform: "linux/amd64+node20", "linux/amd64+cp311-cp311-manylinux_2_36_x86_64", "linux/amd64+go1.26.2"
}

// lockWire is the file.
type lockWire struct {
	Version int                   `json:"lockfile_version"`
	Self    digest.Digest         `json:"self"`
	Logs    map[string]string     `json:"logs,omitempty"`
	Facets  map[string]FacetLock  `json:"facets,omitempty"`
	Servers map[string]ServerLock `json:"servers"`
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

// Launch is how s is declared.
func (s Server) Launch() LaunchLock {
	l := LaunchLock{
		Command: s.Command, Server: s.Record, Source: s.Source, Facet: s.Facet, Arguments: s.Arguments, Variables: s.Variables,
		Kinds: s.Kinds, OnDrift: s.OnDrift, URL: s.URL, Headers: s.Headers, Environment: s.Environment,
		Unlocked: s.Unlocked, Extra: s.Extra,
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
func (l LaunchLock) Digest() digest.Digest {
	plain, err := marshal(l)
	if err == nil {
		plain, err = surface.Canonical(plain, ownLimits)
	}
	if err != nil {
		panic(err) // strings only
	}
	return digest.FromBytes(plain)
}

// Server returns the entry of the server called name.
func (l *Lock) Server(name string) (ServerLock, bool) {
	s, ok := l.servers[name]
	return s, ok
}

// Servers are the names of all entries, sorted.
func (l *Lock) Servers() []string { return slices.Sorted(maps.Keys(l.servers)) }

// Remove takes the entry of a server out of the lock.
func (l *Lock) Remove(name string) { delete(l.servers, name) }

// Add sets the entry of a server, whose digests of the surface are those of shown. Each
// artifact, package lock, tree, record, proof and surface that its entry did not have before
// must have been admitted under its subject for [policy.Add].
func (l *Lock) Add(adm policy.Admitted, name string, s ServerLock, shown *surface.Surface) error {
	s.Surface, s.APISurface, s.SurfaceItems = shown.Digest(), shown.APISurface(), shown.ItemDigests()
	s = s.complete().whole()
	if err := errors.Join(s.check(), s.checkMembers()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	old := l.servers[name]
	permit := func(subject string, before, d digest.Digest) error {
		if evidence.Same(before, d) {
			return nil
		}
		return adm.Permits(subject, d, policy.Add)
	}
	for ref, d := range s.Artifacts {
		if err := permit(ref, old.Artifacts[ref], d); err != nil {
			return err
		}
	}
	if s.Record != nil {
		var before digest.Digest
		if old.Record != nil && old.Record.Subject() == s.Record.Subject() {
			before = old.Record.Document
		}
		if err := permit(s.Record.Subject(), before, s.Record.Document); err != nil {
			return err
		}
		proven := digest.Digest{}
		if s.Record.samePlace(old.Record) {
			proven = old.Record.ProofDigest()
		}
		switch {
		case s.Record.Proof != "":
			if err := permit(s.Record.ProofSubject(), proven, s.Record.ProofDigest()); err != nil {
				return err
			}
		case !proven.IsZero():
			return fmt.Errorf("%s: %s was proven to be in its registry's log, and no longer is", name, surface.Escape(s.Record.Subject()))
		}
	}
	if s.Closure != nil {
		var before ClosureLock
		if old.Closure != nil {
			before = *old.Closure
		}
		if err := permit(ClosureSubject(name), before.Lock, s.Closure.Lock); err != nil {
			return err
		}
		if !evidence.Same(before.Lock, s.Closure.Lock) || !slices.Equal(before.Scripts, s.Closure.Scripts) {
			before.Trees = nil // trees follow from the package lock, and from what scripts make
		}
		for platform, d := range s.Closure.Trees {
			if err := permit(TreeSubject(name, platform), before.Trees[platform], d); err != nil {
				return err
			}
		}
	}
	if err := permit(SurfaceSubject(name), old.Surface, s.Surface); err != nil {
		return err
	}
	if l.servers == nil {
		l.servers = map[string]ServerLock{}
	}
	l.servers[name] = s
	return nil
}

// Subject names the record in evidence: "NAME@VERSION".
func (r RecordLock) Subject() string { return r.Name + "@" + r.Version }

// ProofSubject names the proof that the record is in its registry's log.
func (r RecordLock) ProofSubject() string { return "log proof of " + r.Subject() }

// ProofDigest is the digest under which the proof is admitted; zero if there is none.
func (r RecordLock) ProofDigest() digest.Digest {
	if r.Proof == "" {
		return digest.Digest{}
	}
	return digest.FromBytes([]byte(r.Proof))
}

// samePlace reports whether two entries are of the same record of the same registry.
func (r RecordLock) samePlace(o *RecordLock) bool {
	return o != nil && o.Registry == r.Registry && o.Subject() == r.Subject()
}

// complete fills in what the record of an artifact is of, which the rest of the entry says.
func (s ServerLock) complete() ServerLock {
	if s.Source == Artifact && s.Record != nil {
		r := *s.Record
		r.Kind, r.Integrity = ledger.Artifact, s.Artifacts[s.Ref]
		s.Record = &r
	}
	return s
}

// Artifact is the source of a server that is packed from source.
const Artifact = "artifact"

// check refuses an entry that Hallmark would not have written: a lock comes from a
// checkout, and what it names is executed.
func (s ServerLock) check() error {
	switch {
	case s.Source != "http" && s.Artifacts[s.Ref].IsZero():
		return fmt.Errorf("ref %+q is not among the artifacts", s.Ref)
	case s.Surface.IsZero() || s.APISurface.IsZero():
		return errors.New("has no surface")
	}
	digests := slices.Collect(maps.Values(s.Artifacts))
	digests = append(slices.AppendSeq(digests, maps.Values(s.SurfaceItems)), s.Surface, s.APISurface)
	switch s.Source {
	case "command":
		if s.Entry != "" || s.Closure != nil {
			return errors.New("a command has neither entry nor closure")
		}
	case "http":
		if err := checkRemote(s.Ref); err != nil || s.Ref != s.Launch.URL {
			return fmt.Errorf("ref %+q is not the URL of a server", s.Ref)
		}
		if len(s.Artifacts) > 0 || s.Entry != "" || s.Closure != nil || s.Record != nil {
			return errors.New("a server that is reached by its URL has neither artifacts nor entry, closure or record")
		}
	case "npm":
		ref, err := artifact.Parse(s.Ref)
		if err != nil || ref.Kind() != artifact.NPM {
			return fmt.Errorf("ref %+q is no npm package", s.Ref)
		}
		if s.Closure == nil || s.Closure.Engine != EngineNPM {
			return errors.New("an npm package needs its closure")
		}
		inside, ok := strings.CutPrefix(s.Entry, "node_modules/"+ref.Name()+"/")
		if !ok || archive.CheckInstalledPath(inside) != nil || strings.Contains(inside, ":") {
			return fmt.Errorf("entry %+q is not a file of the package", s.Entry)
		}
	case "pypi":
		ref, err := artifact.Parse(s.Ref)
		if err != nil || ref.Kind() != artifact.PyPI || ref.Filename() == "" {
			return fmt.Errorf("ref %+q is no file of PyPI", s.Ref)
		}
		if s.Closure == nil || s.Closure.Engine != EngineUV && s.Closure.Engine != EnginePip {
			return errors.New("a package of PyPI needs its closure")
		}
		if !entryRE().MatchString(s.Entry) {
			return fmt.Errorf("entry %+q is not module:function", s.Entry)
		}
	case "go":
		ref, err := artifact.Parse(s.Ref)
		if err != nil || ref.Kind() != artifact.Go {
			return fmt.Errorf("ref %+q is no module of Go", s.Ref)
		}
		if s.Closure == nil || s.Closure.Engine != EngineGo {
			return errors.New("a module of Go needs its closure")
		}
		if !inModule(s.Entry, ref.Name()) {
			return fmt.Errorf("entry %+q is no package of the module", s.Entry)
		}
	case "image":
		ref, err := artifact.Parse(s.Ref)
		if err != nil || ref.Kind() != artifact.OCI || !evidence.Same(ref.Digest(), s.Digest) || !evidence.Same(s.Artifacts[s.Ref], s.Digest) {
			return fmt.Errorf("ref %+q is not the image with its digest", s.Ref)
		}
		if s.Entry != "" || s.Closure != nil {
			return errors.New("an image has neither entry nor closure")
		}
		digests = slices.AppendSeq(digests, maps.Values(s.Platforms))
	case Artifact:
		if s.Record == nil || s.Ref != s.Record.Subject() || !facet.CheckName(s.Record.Name) {
			return fmt.Errorf("ref %+q is not its record's", s.Ref)
		}
		if !slices.Contains(facet.Runtimes(), s.Runtime) || archive.CheckPath(s.Entry) != nil || s.Closure != nil {
			return fmt.Errorf("entry %+q is not a file of the server, or its runtime %+q is unknown", s.Entry, s.Runtime)
		}
		if name, floor, err := ParseSourceName(s.Launch.Source); err != nil || name != s.Record.Name || !floor.Matches(s.Record.Version) {
			return fmt.Errorf("ref %+q is not one that its source %+q allows", s.Ref, s.Launch.Source)
		}
	default:
		return fmt.Errorf("unknown source %+q", s.Source)
	}
	if s.Source != "http" && (s.Launch.URL != "" || s.Launch.Headers != nil) {
		return errors.New("is not reached by a URL, and has one")
	}
	if s.Source != Artifact && (s.Runtime != "" || s.Launch.Source != "") {
		return errors.New("is not packed from source, and has a runtime or a floor")
	}
	if s.Launch.Server != "" && (s.Record == nil || s.Launch.Server != s.Record.Subject()) {
		return fmt.Errorf("its record is not %+q", s.Launch.Server)
	}
	if s.Source != "image" && (s.Image != "" || !s.Digest.IsZero() || s.Platforms != nil) {
		return errors.New("is no image, and has one")
	}
	if s.Closure != nil {
		for _, text := range s.Closure.Scripts {
			if ref, err := artifact.Parse(text); err != nil || ref.Kind() != artifact.NPM || s.Source != "npm" {
				return fmt.Errorf("%+q is no package with install scripts", text)
			}
		}
		digests = append(slices.AppendSeq(digests, maps.Values(s.Closure.Trees)), s.Closure.Lock)
	}
	if s.Record != nil {
		digests = append(digests, s.Record.Document)
		if s.Record.Proof != "" {
			if _, err := ledger.ParseProof([]byte(s.Record.Proof)); err != nil {
				return err
			}
		}
	}
	for _, d := range digests {
		if d.Algorithm() != digest.SHA256 {
			return errors.New("holds a digest that is not sha256")
		}
	}
	return nil
}

// entryRE is an entry point of a Python package: a module, and an object in it.
var entryRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)
})

// Encode writes the lock: JSON, sorted, one value a line.
func (l *Lock) Encode() ([]byte, error) {
	w := lockWire{Version: LockVersion, Servers: l.servers, Facets: l.facets, Logs: l.provenLogs()}
	if w.Servers == nil {
		w.Servers = map[string]ServerLock{} // written as {}, not null
	}
	return sealed(&w, &w.Self)
}

// sealed is the JSON of v, whose member self is set to the digest of all others.
func sealed(v any, self *digest.Digest) ([]byte, error) {
	plain, err := marshal(v)
	if err != nil {
		return nil, err
	}
	if *self, err = selfOf(plain); err != nil {
		return nil, err
	}
	return indented(v)
}

// ownLimits bound what is written here, and what of a lock is sealed.
var ownLimits = surface.Limits{Depth: 16, Size: MaxLock}

// checkSelf refuses data that was changed after it was sealed. Only white space between
// the tokens of JSON is not covered, which means nothing.
func checkSelf(data []byte, self digest.Digest) error {
	d, err := selfOf(data)
	switch {
	case err != nil:
		return err
	case !evidence.Same(self, d):
		return errors.New("was changed: its own digest does not hold")
	}
	return spelled(data, d)
}

// spelled refuses data in which its digest is in capitals or has escapes, which reads just
// the same. Nothing else in the data can be its digest, as it follows from all else.
func spelled(data []byte, d digest.Digest) error {
	if !bytes.Contains(data, []byte(`"`+d.String()+`"`)) {
		return errors.New("its self member is not spelled as Hallmark writes it")
	}
	return nil
}

// selfOf is the digest of the canonical JSON of a lock without its self member. It is that
// of the bytes as they are, and not of what is read from them: a member whose name is
// spelled in capitals would be read just the same.
func selfOf(data []byte) (digest.Digest, error) {
	canonical, err := surface.Canonical(data, ownLimits, "self")
	return digest.FromBytes(canonical), err
}

// marshal is json.Marshal without escapes of <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// indented is marshal with two spaces a level and a final newline.
func indented(v any) ([]byte, error) {
	plain, err := marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, plain, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

// ParseLock reads hallmark.lock. A lock whose self digest is not that of its content
// was corrupted or edited carelessly, which is an integrity error; anything else wrong
// is a validation error.
func ParseLock(data []byte) (*Lock, error) {
	if len(data) > MaxLock {
		return nil, invalid(LockFile, fmt.Errorf("larger than %d bytes", MaxLock))
	}
	if bytes.HasPrefix(data, []byte("<<<<<<< ")) || bytes.Contains(data, []byte("\n<<<<<<< ")) {
		return nil, &evidence.Error{
			Subject: LockFile, Kind: evidence.Validation, Err: errors.New("has merge conflict markers"),
			Hint: "take either side, then run 'hallmark pin' for the servers and 'hallmark install' for the facets that differ",
		}
	}
	var (
		w     lockWire
		self  digest.Digest
		group errgroup.Group
	)
	group.Go(func() (err error) { // takes as long as decoding
		self, err = selfOf(data)
		return err
	})
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var exact error
	group.Go(func() error {
		exact = surface.CheckMembers(data, lockWire{})
		return nil
	})
	unread := d.Decode(&w)
	if err := group.Wait(); err != nil {
		return nil, invalid(LockFile, err)
	}
	if unread != nil { // another version has other members
		var version struct {
			Version int `json:"lockfile_version"`
		}
		if err := json.Unmarshal(data, &version); err != nil {
			return nil, invalid(LockFile, err)
		}
		w.Version = version.Version
	}
	if w.Version != LockVersion && w.Version != 1 {
		return nil, invalid(LockFile, fmt.Errorf("lockfile_version is %d; this build reads 1 and %d", w.Version, LockVersion))
	}
	if unread != nil {
		return nil, invalid(LockFile, unread)
	}
	claim := evidence.Claim{Subject: LockFile, Scheme: evidence.Document, Authority: evidence.Lock, Where: "its self member"}
	if !w.Self.IsZero() {
		claim.Want = []digest.Digest{w.Self}
	}
	e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{self}, From: "its content"})
	if v := policy.Judge(policy.Check, policy.Settings{}, evidence.Report{e}); !v.Allowed() {
		return nil, v.Err()
	}
	if err := spelled(data, self); err != nil {
		return nil, evidence.Errorf(evidence.Integrity, LockFile, "", err)
	}
	if exact != nil {
		return nil, invalid(LockFile, exact)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Servers)) {
		if !nameRE().MatchString(name) {
			return nil, invalid(LockFile, fmt.Errorf("%+q cannot be the name of a server", name))
		}
		w.Servers[name] = w.Servers[name].complete()
		if err := w.Servers[name].check(); err != nil {
			return nil, invalid(LockFile, fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Facets)) {
		if err := w.Facets[name].check(name); err != nil {
			return nil, invalid(LockFile, fmt.Errorf("%+q: %w", name, err))
		}
	}
	l := &Lock{version: w.Version, servers: w.Servers, facets: w.Facets, logs: w.Logs}
	if err := l.checkVersion(); err != nil {
		return nil, invalid(LockFile, err)
	}
	return l, nil
}
