// Package scan reads the configuration files of MCP clients, and judges how they start their
// servers: against the rules of package launcher, and whether Hallmark guards them. [Scan] starts
// and fetches nothing. With Options.Project the files of one checkout may have 64 MiB together.
//
// [Protect] puts the servers that a scan finds in the user's own files behind Hallmark: it locks what
// the files start, and rewrites these to start "hallmark run"; [UndoProtect] gives the files back. They
// are locked in the project of the user's own clients, which is in the user's configuration directory,
// whatever the current directory is.
package scan

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options say what to scan.
type Options struct {
	Clients []string // ids; all of them if empty
	// Paths are files and projects' directories. Without any the user's files and those of
	// the project in Dir are scanned.
	Paths []string
	Dir   string
	OS    string // whose default places are read; "" is this system
	Home  string // the user's home directory
	// Project scans only the project in Dir: the clients' files there and in every directory below.
	Project bool
	// Strict refuses what a hallmark.toml opts out of, in this project or one below it, and what clients read there
	// that no lock covers.
	Strict bool
	// Program is the file of this machine's hallmark. Without it no entry counts as guarded, as
	// nothing tells which program is hallmark.
	Program string
	// Rewritten says to read, besides the user's files, those that entries of were rewritten in before, wherever they
	// lie.
	Rewritten bool
}

// Result is what [Scan] found.
type Result struct {
	Files   []string         `json:"files"`
	Servers []Server         `json:"servers"`
	Looked  *time.Time       `json:"looked,omitempty"` // when this machine looked before, set by FindNews
	Verdict policy.Verdict   `json:"-"`
	Rules   []policy.Finding `json:"-"` // those of Verdict that break a rule
}

// Server is one server of a client's configuration, with what looks like a secret redacted.
type Server struct {
	Client    string         `json:"client,omitempty"`
	File      string         `json:"file"`
	Line      int            `json:"line"`
	Column    int            `json:"column"`
	Scope     string         `json:"scope,omitempty"` // the project that it is for, in a file with several
	Name      string         `json:"name"`
	Command   string         `json:"command,omitempty"`
	Arguments []string       `json:"arguments,omitempty"`
	Variables []string       `json:"variables,omitempty"` // names
	URL       string         `json:"url,omitempty"`
	Disabled  bool           `json:"disabled,omitempty"`
	Starts    clients.Starts `json:"starts,omitempty"` // absent for a program, a URL, or what cannot be told
	Launcher  string         `json:"launcher,omitempty"`
	Packages  []Package      `json:"packages,omitempty"`
	// Guarded says that this machine's hallmark verifies it before it starts it, and that its client asks before
	// it calls tools.
	Guarded  bool      `json:"guarded,omitempty"`
	Cover    Cover     `json:"cover,omitempty"`
	State    State     `json:"state,omitempty"`    // absent for what starts nothing
	News     News      `json:"news,omitempty"`     // set by [Result.FindNews]
	Runs     *Runs     `json:"runs,omitempty"`     // what hallmark run starts for it
	Withheld *Withheld `json:"withheld,omitempty"` // what of that its client is not shown
	Changed  string    `json:"changed,omitempty"`  // why hallmark run refuses it: a file of it changed
	Renew    string    `json:"renew,omitempty"`    // the command that leads on
	// the file is the user's or the machine's, for every project
	User bool `json:"user,omitempty"`
	// the file is the machine's, which its administrator manages
	System bool `json:"system,omitempty"`
	// the file is part of a plugin or an extension of its client
	Installed   bool             `json:"installed,omitempty"`
	Roots       []string         `json:"roots,omitempty"`        // of hallmark hashfile
	AutoApprove []string         `json:"auto_approve,omitempty"` // members with which its client does not ask
	Findings    []policy.Finding `json:"findings"`

	fixed bool // its command line names packages alone, each of one version or content, and no place that they reach
}

// CommandLine returns the command line of the server, or its URL.
func (s Server) CommandLine() string {
	return strings.TrimSpace(strings.Join(append([]string{s.Command}, s.Arguments...), " ") + s.URL)
}

// State is how far a server is covered, in one word.
type State string

// The values of State, from the best.
const (
	StateGuarded    State = "guarded"    // hallmark run verifies it when it starts
	StateEditor     State = "editor"     // hallmark hashfile
	StateVerified   State = "verified"   // its client compares a hash of it
	StatePinned     State = "pinned"     // the version is fixed; its bytes are not verified
	StateUnapproved State = "unapproved" // it is locked, and this machine has not approved it: hallmark run refuses
	StateOpen       State = "open"       // what it starts can change, or is not known
	StateOff        State = "off"        // its client does not start it
)

// stateOf returns the state of a server about which there is a verdict.
func stateOf(s Server, verifies, allowed bool) State {
	switch {
	case s.Starts != clients.StartsServer:
		return ""
	case s.Disabled:
		return StateOff
	case s.Cover == Editor:
		return StateEditor
	case !allowed:
		return StateOpen
	case s.Cover == Guarded:
		return StateGuarded
	case s.Cover == Unapproved:
		return StateUnapproved
	case verifies:
		return StateVerified
	case s.fixed:
		return StatePinned
	}
	return StateOpen
}

// Runs is the server that an entry starts with hallmark run.
type Runs struct {
	Project string `json:"project"` // its directory
	Name    string `json:"name"`
	Ref     string `json:"ref,omitempty"` // what is locked, "npm:notes@1.0.0"
}

// Withheld says what a guard noted that it withholds of a server.
type Withheld struct {
	Since time.Time `json:"since"`
	Items []string  `json:"items"` // keys, such as "tool:add_note"
}

// Cover is how far Hallmark covers an entry that starts it.
type Cover string

// The values of Cover. An entry without one does not start Hallmark, or is refused.
const (
	Guarded    Cover = "guarded"    // hallmark run verifies it when it starts
	Unapproved Cover = "unapproved" // it is locked, and this machine has not approved it: hallmark run refuses
	Editor     Cover = "editor"     // hallmark hashfile, which locks nothing
)

// Package is a package that a launcher is told to run.
type Package struct {
	Ecosystem launcher.Ecosystem `json:"ecosystem"`
	Name      string             `json:"name"`
	Spec      string             `json:"spec,omitempty"`
	Pin       launcher.Pin       `json:"pin"`
	Pinned    bool               `json:"pinned"` // one version or content; its bytes were not looked at
	Locked    bool               `json:"locked"` // hallmark.lock of the project holds its digest
}

// maxScanned bounds the bytes of the clients' files of a checkout.
const maxScanned = 64 << 20

// Scan reads the configuration files of MCP clients and judges each server by the rules of package
// launcher. It starts, fetches and writes nothing.
func Scan(ctx context.Context, h *host.Host, o Options) (*Result, error) {
	files, unread, err := scanFiles(ctx, h, o)
	if err != nil {
		return nil, err
	}
	sc := newScan(h, o)
	for _, dir := range scannedDirs(o) {
		sc.projectOf("", dir)
	}
	sc.files, sc.all = files, unread
	if err := sc.scanAll(ctx); err != nil {
		return nil, err
	}
	sc.all = append(sc.all, sc.removedEvidence()...)
	if o.Project && len(o.Clients) == 0 {
		unmanaged, err := sc.unmanagedEvidence(ctx)
		if err != nil {
			return nil, err
		}
		sc.all = append(sc.all, unmanaged...)
	}
	out := sc.out
	out.Verdict = policy.Judge(policy.Scan, sc.settings(), sc.all)
	for _, f := range out.Verdict.Findings {
		if f.Class != evidence.OK || f.Warning {
			out.Rules = append(out.Rules, f)
		}
	}
	return out, nil
}

// scanAll reads and judges the files, up to the limit of a checkout.
func (sc *scan) scanAll(ctx context.Context) error {
	total := 0
	for i := 0; i < len(sc.files); i++ { // a file may add those that it names
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := clients.Read(sc.files[i])
		if total += len(data); sc.o.Project && total > maxScanned {
			sc.all = append(sc.all, unreadableEvidence(host.RelativeTo(sc.o.Dir, sc.files[i].Path),
				fmt.Errorf("is not read, nor is any file after it: the "+
					"clients' files of this checkout are larger than %d bytes", maxScanned)))
			return nil
		}
		sc.scanFile(ctx, sc.files[i], data, err)
	}
	return nil
}

// scanFile judges the servers and the commands of a file with data, or reports that it cannot be read, as unread or
// their parser says.
func (sc *scan) scanFile(ctx context.Context, f clients.File, data []byte, unread error) {
	shown := host.RelativeTo(sc.o.Dir, f.Path)
	var servers []clients.Server
	var commands []clients.Command
	err := unread
	if err == nil {
		servers, err = clients.Inspect(f, data)
	}
	if err == nil {
		commands, err = clients.Commands(f, data)
	}
	again := sc.listed[shown]
	if sc.listed[shown] = true; !again {
		sc.out.Files = append(sc.out.Files, shown)
	}
	if err != nil {
		if !again {
			sc.all = append(sc.all, unreadableEvidence(shown, err))
		}
		return
	}
	if !again {
		sc.all = append(sc.all, elsewhereEvidence(sameFile(sc.files, f), data, shown)...)
	}
	for _, c := range commands {
		sc.all = append(sc.all, commandEvidence(c, shown))
	}
	for _, s := range servers {
		if named, ok := sc.namedFile(f, s); !ok {
			sc.addServer(ctx, f, s, shown)
		} else if !slices.ContainsFunc(sc.files, named.ReadBy) {
			sc.files = append(sc.files, named)
		}
	}
}

// addServer judges one server of a file, and adds it to the result.
func (sc *scan) addServer(ctx context.Context, f clients.File, s clients.Server, shown string) {
	scanned, found := sc.judgeServer(ctx, f, s, shown)
	v := policy.Judge(policy.Scan, sc.settings(), found)
	scanned.Findings = v.Findings
	scanned.Guarded = scanned.Cover == Guarded && v.Allowed() && len(scanned.AutoApprove) == 0
	scanned.State = stateOf(scanned, s.Verify != "" && s.Verify != string(project.VerifyNone), v.Allowed())
	if isMoved(scanned) && scanned.Runs.Project == host.RealPath(sc.h.Places.Config) && sc.program.file != "" {
		scanned.Renew = renewProtect
	}
	if !v.Allowed() && scanned.Cover != Editor {
		scanned.Cover = ""
	}
	sc.out.Servers = append(sc.out.Servers, scanned)
	sc.all = append(sc.all, found...)
}

// settings are those by which the scan's evidence is judged.
func (sc *scan) settings() policy.Settings { return policy.Settings{RefuseWaived: sc.o.Strict} }

// lockedVersions returns the versions of the packages that the lock of the project in dir holds, by
// ecosystem and name. An unreadable lock holds none here; hallmark check reports it.
func lockedVersions(dir string) map[artifact.Kind]map[string]string {
	out := map[artifact.Kind]map[string]string{}
	data, err := workspace.ReadPlain(filepath.Join(dir, project.LockFile), project.MaxLock)
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

// scan is one run of [Scan].
type scan struct {
	h       *host.Host
	o       Options
	program ownProgram
	locked  map[artifact.Kind]map[string]string
	opened  map[string]openedProject // by directory
	root    string                   // of the scanned checkout, links resolved; "" if none is scanned

	projects map[string]bool // by directory: whether it is a project of Hallmark
	found    []string        // the projects that the scan passed

	files  []clients.File  // those to read
	listed map[string]bool // those that are in the result
	all    evidence.Report // about all of them
	out    *Result
}

// openedProject is a project as hallmark run reads it, or the error of that.
type openedProject struct {
	w    *workspace.Workspace
	logs *trail.Logs
	err  error
}

func newScan(h *host.Host, o Options) *scan {
	root := ""
	if o.Project {
		if abs, err := filepath.Abs(o.Dir); err == nil {
			root, _ = filepath.EvalSymlinks(abs) // without it no file names another
		}
	}
	return &scan{
		root: root,
		h:    h, o: o, program: ownProgram{file: o.Program, path: h.Getenv("PATH"), os: cmp.Or(o.OS, runtime.GOOS)},
		locked: lockedVersions(o.Dir), opened: map[string]openedProject{}, projects: map[string]bool{},
		listed: map[string]bool{}, out: &Result{Files: []string{}, Servers: []Server{}},
	}
}

// judgeServer judges one entry by the rules.
func (sc *scan) judgeServer(ctx context.Context, f clients.File, s clients.Server, shown string) (Server,
	evidence.Report) {
	claim := evidence.Claim{
		Subject: serverSubject(s), Where: evidence.Place{File: shown, Line: s.Line}.Show(),
		Place: evidence.Place{File: shown, Line: s.Line, Column: s.Column},
	}
	target, report := launcher.Declared{
		Command: s.Command, Args: startedArguments(s), URL: s.URL, Verify: s.Verify, Algorithm: s.Algorithm,
		Known: sc.lockedVersion,
	}.Evidence(claim)
	out := Server{
		Client: s.Client, File: shown, Line: s.Line, Column: s.Column, Scope: s.Scope, Name: s.Name,
		Command: launcher.Redact([]string{s.Command})[0], Arguments: launcher.Redact(s.Args),
		Variables: s.Variables, URL: launcher.Redact([]string{s.URL})[0], Disabled: s.Disabled,
		Starts: s.Starts, Launcher: target.Launcher,
	}
	if s.Starts != clients.StartsServer {
		return out, nil
	}
	out.Packages = sc.packagesOf(target)
	if s.Command != "" {
		report = append(report, writableEvidence(sc.h, s.Command, claim)...)
	}
	report = append(report, secretEvidence(s.Secrets, claim)...)
	report = append(report, malformedEvidence(s, claim)...)
	if out.AutoApprove = s.AutoApprove; len(out.AutoApprove) > 0 && !s.Disabled {
		report = append(report, autoApproveEvidence(out.AutoApprove, claim))
	}
	if s.Client == "hallmark" && target.Module != "" { // 'hallmark run' starts its locked file, or nothing
		report = slices.DeleteFunc(report, func(e evidence.Evidence) bool { return e.Rule == launcher.RuleUnknown })
	}
	e := &scannedEntry{scan: sc, file: f, server: s, claim: claim, target: target}
	own := e.judge(ctx)
	out.Cover, out.Roots, out.Runs, out.Withheld = e.cover, e.roots, e.runs, e.withheld
	out.User, out.System, out.Installed = f.User, f.System, f.Installed
	out.fixed = target.Opaque == "" && target.Pinned() && target.Reaches() == ""
	if i := slices.IndexFunc(s.Variables, choosesPackage); i >= 0 && out.fixed {
		out.fixed = false
		own = append(own, variableEvidence(s.Variables[i], claim))
	}
	if s.Disabled { // its client does not start it
		report = waiveDisabled(report)
		if e.project == "" {
			own = waiveDisabled(own)
		}
	}
	return out, append(report, own...)
}

// lockedVersion returns the version of a package that the scanned project's lock holds, "" if none.
func (sc *scan) lockedVersion(p launcher.Package) string {
	return sc.locked[artifact.Kind(p.Ecosystem)][p.Name]
}

// packagesOf returns the packages that a command line names.
func (sc *scan) packagesOf(target launcher.Target) (all []Package) {
	for _, p := range target.Packages {
		version := sc.lockedVersion(p)
		all = append(all, Package{
			Ecosystem: p.Ecosystem, Name: launcher.Redact([]string{p.Name})[0], Spec: p.Spec, Pin: p.Pin,
			Pinned: p.Pinned(),
			Locked: p.Pinned() && version != "" && p.Ref.Version() == version,
		})
	}
	return all
}

// launcherVariables are the beginnings of variables that launchers read themselves, and plainVariables those of them
// that say nothing about which package they take, or from where. A launcher's variable that is not known counts.
var (
	launcherVariables = []string{"NPM_CONFIG_", "YARN_", "PNPM_", "BUN_", "UV_", "PIP_", "PIPX_", "DOCKER_",
		"CONTAINER_", "DENO_", "DOTNET_", "NUGET_"}
	plainVariables = []string{"NPM_CONFIG_LOGLEVEL", "NPM_CONFIG_YES", "NPM_CONFIG_FUND", "NPM_CONFIG_AUDIT",
		"NPM_CONFIG_UPDATE_NOTIFIER", "UV_HTTP_TIMEOUT", "UV_NO_PROGRESS", "UV_OFFLINE", "UV_CONCURRENT_DOWNLOADS",
		"UV_LINK_MODE",
		"PIP_DISABLE_PIP_VERSION_CHECK", "PIP_NO_INPUT", "DOTNET_NOLOGO", "DOTNET_CLI_TELEMETRY_OPTOUT",
		"DENO_NO_UPDATE_CHECK"}
)

// choosesPackage reports whether a variable of an entry may say where its launcher takes packages from, or makes
// programs load other code than their own.
func choosesPackage(name string) bool {
	upper := strings.ToUpper(name)
	own := slices.ContainsFunc(launcherVariables, func(prefix string) bool { return strings.HasPrefix(upper, prefix) })
	return (own || launcher.ChangesLoading(name)) && !slices.Contains(plainVariables, upper)
}

// variableEvidence returns evidence of a variable of an entry with which its pinned package may be another.
func variableEvidence(name string, claim evidence.Claim) evidence.Evidence {
	claim.Scheme, claim.Authority, claim.Text = evidence.Launch, evidence.Caller, ""
	e := evidence.CannotVerify(claim, evidence.Unsupported, "its entry sets "+clients.QuoteText(name)+
		", which may change what is fetched or loaded")
	e.Rule = launcher.RuleUnknown
	return e
}

// startedArguments returns the arguments of an entry that may name a program: of hallmark run those for the server, as
// the others are its own, such as a server's name.
func startedArguments(s clients.Server) []string {
	if !clients.IsRunEntry(s) {
		return s.Args
	}
	line, _ := clients.ReadRunLine(s.Args[1:], false)
	return line.Extra
}

// waiveDisabled waives all findings about a server that its client does not start.
func waiveDisabled(report evidence.Report) evidence.Report {
	for i, e := range report {
		if e.Outcome != evidence.Match {
			report[i] = evidence.Waive(e.Claim, e.Observed, "the server is disabled")
			report[i].Rule, report[i].Fix = e.Rule, e.Fix
		}
	}
	return report
}

// malformedEvidence returns evidence of an entry that cannot be read as one server.
func malformedEvidence(s clients.Server, claim evidence.Claim) evidence.Report {
	if s.Problem == "" {
		return nil
	}
	claim.Scheme, claim.Authority, claim.Text = evidence.Launch, evidence.Caller, "one command, or one URL"
	e := evidence.Fact(claim, "")
	e.Rule, e.Reason = launcher.RuleMalformed, "the entry "+s.Problem
	if s.Extension {
		e = evidence.CannotVerify(claim, evidence.Unsupported, "the entry "+s.Problem)
		e.Rule = launcher.RuleUnknown
	}
	return evidence.Report{e}
}

// secretEvidence returns evidence of variables and headers of those names, whose values in the file are secrets.
func secretEvidence(names []string, claim evidence.Claim) evidence.Report {
	if len(names) == 0 {
		return nil
	}
	claim.Scheme, claim.Authority, claim.Text = evidence.Secret, evidence.Caller, "none"
	shown := strings.Join(launcher.Redact(names), ", ")
	e := evidence.Fact(claim, shown)
	e.Rule = launcher.RuleSecretText
	e.Reason = "the value of " + clients.QuoteText(shown) + " is a secret, written out in the file"
	e.Fix = "a reference to a variable or an input, in the form that the client fills in"
	return evidence.Report{e}
}

// autoApproveEvidence returns evidence of members of an entry with which its client calls tools without asking.
func autoApproveEvidence(members []string, claim evidence.Claim) evidence.Evidence {
	claim.Scheme, claim.Authority, claim.Text = evidence.Launch, evidence.Lock, "its client asks before each call"
	shown := strings.Join(launcher.Redact(members), ", ")
	e := evidence.Waive(claim, evidence.Fact(claim, shown).Observed,
		"its client calls tools without asking: "+clients.QuoteText(shown))
	e.Rule = launcher.RuleAutoApprove
	return e
}

// serverSubject names a server: its client, where that is known, and its name.
func serverSubject(s clients.Server) string {
	name := s.Name
	if s.Scope != "" {
		name = s.Scope + ": " + name
	}
	return cmp.Or(s.Client, "config") + ": " + name
}

// writableEvidence returns evidence about who else may replace the executable of command. There is
// none if the executable does not exist here.
func writableEvidence(h *host.Host, command string, claim evidence.Claim) evidence.Report {
	found := command
	if filepath.Base(command) == command {
		var err error
		if found, err = workspace.FindIn(h.Getenv("PATH"), command); err != nil {
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
