package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// ScanOptions say what to scan.
type ScanOptions struct {
	Clients []string // ids; all of them if empty
	// Paths are files and projects' directories. Without any the user's files and those of
	// the project in Dir are scanned.
	Paths []string
	Dir   string
	OS    string // whose places are meant; this system's if empty
	Home  string // the user's home directory
}

// Scanned is what [Scan] found.
type Scanned struct {
	Files   []string         `json:"files"`
	Servers []ScannedServer  `json:"servers"`
	Verdict policy.Verdict   `json:"-"`
	Rules   []policy.Finding `json:"-"` // those of Verdict that break a rule
}

// ScannedServer is one server of a client's configuration. Its text is the file's, save
// that what looks like a secret is replaced.
type ScannedServer struct {
	Client    string           `json:"client,omitempty"`
	File      string           `json:"file"`
	Line      int              `json:"line"`
	Column    int              `json:"column"`
	Scope     string           `json:"scope,omitempty"` // the project that it is for, in a file with several
	Name      string           `json:"name"`
	Command   string           `json:"command,omitempty"`
	Arguments []string         `json:"arguments,omitempty"`
	Variables []string         `json:"variables,omitempty"` // names
	URL       string           `json:"url,omitempty"`
	Disabled  bool             `json:"disabled,omitempty"`
	Launcher  string           `json:"launcher,omitempty"`
	Packages  []ScannedPackage `json:"packages,omitempty"`
	Guarded   bool             `json:"guarded,omitempty"` // it is started by hallmark run
	Findings  []policy.Finding `json:"findings"`
}

// ScannedPackage is a package that a launcher is told to run.
type ScannedPackage struct {
	Ecosystem launcher.Ecosystem `json:"ecosystem"`
	Name      string             `json:"name"`
	Spec      string             `json:"spec,omitempty"`
	Pin       launcher.Pin       `json:"pin"`
	Pinned    bool               `json:"pinned"` // one version or content; its bytes were not looked at
	Locked    bool               `json:"locked"` // hallmark.lock of the project holds its digest
}

// Scan reads the configuration files of MCP clients and holds each server against the
// rules of package launcher. Nothing is started, fetched or written.
func Scan(ctx context.Context, h *Host, o ScanOptions) (*Scanned, error) {
	files, err := scanFiles(h, o)
	if err != nil {
		return nil, err
	}
	locked := lockedVersions(o.Dir)
	out := &Scanned{Files: []string{}, Servers: []ScannedServer{}}
	var report evidence.Report
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		shown := relative(o.Dir, f.Path)
		out.Files = append(out.Files, shown)
		servers, err := clients.Load(f)
		if err != nil {
			report = append(report, unreadable(f, shown, err))
			continue
		}
		for _, s := range servers {
			scanned, found := h.scanServer(s, shown, locked)
			v := policy.Judge(policy.Scan, policy.Settings{}, found)
			scanned.Findings = v.Findings
			out.Servers = append(out.Servers, scanned)
			report = append(report, found...)
		}
	}
	out.Verdict = policy.Judge(policy.Scan, policy.Settings{}, report)
	for _, f := range out.Verdict.Findings {
		if f.Class != evidence.OK || f.Warning {
			out.Rules = append(out.Rules, f)
		}
	}
	return out, nil
}

// scanFiles are the files to read: each once.
func scanFiles(h *Host, o ScanOptions) ([]clients.File, error) {
	usage := func(err error) error { return evidence.Errorf(evidence.Validation, "", "", err) }
	machine := clients.Machine{OS: cmp.Or(o.OS, runtime.GOOS), Home: o.Home, Getenv: h.Getenv, Project: o.Dir}
	if len(o.Paths) == 0 {
		files, err := clients.Find(machine, o.Clients...)
		if err != nil {
			return nil, usage(err)
		}
		return files, nil
	}
	var out []clients.File
	for _, name := range o.Paths {
		st, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "", errors.New("there is no such file"))
		case err != nil:
			return nil, evidence.Errorf(evidence.Operation, fmt.Sprintf("%+q", name), "", err)
		case st.IsDir():
			found, err := clients.Find(clients.Machine{OS: machine.OS, Project: name}, o.Clients...)
			if err != nil {
				return nil, usage(err)
			}
			// Managed files of the machine are no part of a project.
			for _, f := range found {
				if rel, err := filepath.Rel(name, f.Path); err == nil && filepath.IsLocal(rel) {
					out = append(out, f)
				}
			}
		default:
			f := clients.At(name)
			if len(o.Clients) > 0 && !slices.Contains(o.Clients, f.Client) {
				continue
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// relative names a file below dir by its path from there, any other as it is.
func relative(dir, name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	if root, err := filepath.Abs(dir); err == nil {
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return abs
}

func unreadable(f clients.File, shown string, err error) evidence.Evidence {
	cause := evidence.Malformed
	if errors.As(err, new(*fs.PathError)) || errors.Is(err, fs.ErrPermission) {
		cause = evidence.Unreadable
	}
	e := evidence.CannotVerify(evidence.Claim{
		Subject: shown, Scheme: evidence.Document, Authority: evidence.Caller, Where: shown, Place: evidence.Place{File: shown},
	}, cause, err.Error())
	e.Rule = launcher.RuleUnreadable
	return e
}

// lockedVersions are the packages that the lock of the project in dir holds, by ecosystem
// and name. A lock that cannot be read holds none: check reports it.
func lockedVersions(dir string) map[artifact.Kind]map[string]string {
	out := map[artifact.Kind]map[string]string{}
	data, err := readFile(filepath.Join(dir, project.LockFile), project.MaxLock)
	if err != nil || data == nil {
		return out
	}
	lock, err := project.ParseLock(data)
	if err != nil {
		return out
	}
	for _, name := range lock.Servers() {
		entry, _ := lock.Server(name)
		for text := range entry.Artifacts {
			ref, err := artifact.Parse(text)
			if err != nil || ref.Version() == "" {
				continue
			}
			if out[ref.Kind()] == nil {
				out[ref.Kind()] = map[string]string{}
			}
			out[ref.Kind()][ref.Normal().Name()] = ref.Version()
		}
	}
	return out
}

// scanServer holds one server against the rules.
func (h *Host) scanServer(s clients.Server, shown string, locked map[artifact.Kind]map[string]string) (ScannedServer, evidence.Report) {
	known := func(p launcher.Package) string { return locked[artifact.Kind(p.Ecosystem)][p.Name] }
	claim := evidence.Claim{
		Subject: serverSubject(s), Where: evidence.Place{File: shown, Line: s.Line}.Show(),
		Place: evidence.Place{File: shown, Line: s.Line, Column: s.Column},
	}
	target, report := launcher.Declared{
		Command: s.Command, Args: s.Args, URL: s.URL, Verify: s.Verify, Algorithm: s.Algorithm, Known: known,
	}.Evidence(claim)
	out := ScannedServer{
		Client: s.Client, File: shown, Line: s.Line, Column: s.Column, Scope: s.Scope, Name: s.Name,
		Command: launcher.Redact([]string{s.Command})[0], Arguments: launcher.Redact(s.Args),
		Variables: s.Variables, URL: launcher.Redact([]string{s.URL})[0], Disabled: s.Disabled, Launcher: target.Launcher,
		Guarded: isHallmark(s),
	}
	for _, p := range target.Packages {
		version := known(p)
		out.Packages = append(out.Packages, ScannedPackage{
			Ecosystem: p.Ecosystem, Name: launcher.Redact([]string{p.Name})[0], Spec: p.Spec, Pin: p.Pin, Pinned: p.Pinned(),
			Locked: p.Pinned() && version != "" && p.Ref.Version() == version,
		})
	}
	if s.Command != "" {
		report = append(report, h.writable(s.Command, claim)...)
	}
	if s.Disabled { // it is not started, whatever it says
		for i, e := range report {
			if e.Outcome != evidence.Match {
				report[i] = evidence.Waive(e.Claim, e.Observed, "the server is disabled")
				report[i].Rule, report[i].Fix = e.Rule, e.Fix
			}
		}
	}
	return out, report
}

// serverSubject names a server: its client, where that is known, and its name.
func serverSubject(s clients.Server) string {
	name := s.Name
	if s.Scope != "" {
		name = s.Scope + ": " + name
	}
	return cmp.Or(s.Client, "config") + ": " + name
}

// isHallmark reports whether an entry starts hallmark run.
func isHallmark(s clients.Server) bool {
	return filepath.Base(filepath.ToSlash(s.Command)) == "hallmark" && len(s.Args) > 0 && s.Args[0] == "run"
}

// writable is evidence about who else may replace the executable that command resolves
// to. One that is not here is nobody's to replace.
func (h *Host) writable(command string, claim evidence.Claim) evidence.Report {
	found := command
	if filepath.Base(command) == command {
		var err error
		if found, err = findIn(h.Getenv("PATH"), command); err != nil {
			return nil
		}
	}
	if !filepath.IsAbs(found) {
		return nil // relative to a directory that the client chooses
	}
	if _, err := os.Stat(found); err != nil {
		return nil
	}
	by := writableByOthers(found)
	if real, err := filepath.EvalSymlinks(found); err == nil && by == "" {
		by = writableByOthers(real)
	}
	claim.Scheme, claim.Authority, claim.Text = evidence.Access, evidence.Machine, "nobody else"
	if by == "" {
		return evidence.Report{evidence.Fact(claim, claim.Text)}
	}
	e := evidence.Fact(claim, by)
	e.Rule, e.Reason = launcher.RuleWritable, "others can put another program in the place of "+found
	return evidence.Report{e}
}
