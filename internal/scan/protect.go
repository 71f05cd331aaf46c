package scan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// ProtectOptions say what [Protect] protects.
type ProtectOptions struct {
	Clients []string // ids; all of them if empty
	Home    string   // the user's home directory
	Program string   // the file of this program, which the clients start then
	Dry     bool     // find out what would be protected, and change nothing
	Pin     pin.Options
	// Allow asks whether the servers of one client are to be fetched, started to see what they show, locked, and
	// started by hallmark run from then on. Nil means yes.
	Allow func(ProtectedClient) (bool, error)
	// Done is called when nothing more happens to a client.
	Done func(ProtectedClient)
}

// ProtectedClient is a client with the servers of its user's files, as [Protect] found or left them.
type ProtectedClient struct {
	ID      string             `json:"id"`
	Name    string             `json:"name"`
	Servers []*ProtectedServer `json:"servers"`
}

// Open returns the servers that can be protected.
func (c ProtectedClient) Open() (out []*ProtectedServer) {
	for _, s := range c.Servers {
		if s.Outcome == OutcomeOpen {
			out = append(out, s)
		}
	}
	return out
}

// ProtectedServer is an entry of a client's file.
type ProtectedServer struct {
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Scope   string  `json:"scope,omitempty"` // the project that it is for, in a file with several
	Name    string  `json:"name"`
	Starts  string  `json:"starts"` // the command line or URL, with what looks like a secret redacted
	Outcome Outcome `json:"outcome"`
	Server  string  `json:"server,omitempty"` // what it is called in the lock
	Ref     string  `json:"ref,omitempty"`    // what is locked, "npm:notes@1.0.0"
	Items   int     `json:"items,omitempty"`  // that a model is shown
	Reason  string  `json:"reason,omitempty"` // why it is not protected, or not wholly
	Hint    string  `json:"hint,omitempty"`   // what leads on
	Err     error   `json:"-"`                // of one that failed

	moved bool // it is locked, and its entry names another file of Hallmark's program
}

// Outcome is what [Protect] did about a server.
type Outcome string

// renewProtect is the command that makes an entry start this program in the place of another file of it.
const renewProtect = "hallmark protect"

// The values of Outcome.
const (
	OutcomeOpen      Outcome = "open"      // it can be protected
	OutcomeProtected Outcome = "protected" // it is now, and was not before
	OutcomeAlready   Outcome = "already"   // it was before
	OutcomeFailed    Outcome = "failed"    // it could not be; its client starts it as before
	OutcomeLeft      Outcome = "left"      // it is not meant to be
)

// ProtectResult is what [Protect] did.
type ProtectResult struct {
	Project string             `json:"project"` // where the servers are locked
	Clients []*ProtectedClient `json:"clients"`
	Unread  []UnreadFile       `json:"unread,omitempty"`
}

// UnreadFile is a client's file that cannot be read.
type UnreadFile struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Unread returns the files of clients that cannot be read, and an error for each: their servers were not looked at.
func (r *Result) Unread() (files []UnreadFile, all []error) {
	for _, f := range r.Rules {
		if f.Evidence.Rule == launcher.RuleUnreadable && f.Class != evidence.OK {
			files = append(files, UnreadFile{f.Evidence.Subject, f.Evidence.Reason})
			all = append(all, evidence.Errorf(f.Class, f.Evidence.Subject, "mend the file, and run the command again",
				errors.New("cannot be read: "+f.Evidence.Reason)))
		}
	}
	return files, all
}

// Protect locks the servers that the user's own clients start, client by client, and rewrites their entries. A server
// that fails does not stop the others: it is in the result, and all errors are joined in the one that is returned.
func Protect(ctx context.Context, h *host.Host, o ProtectOptions) (*ProtectResult, error) {
	place := h.Places.Config
	r := &ProtectResult{Project: place, Clients: []*ProtectedClient{}}
	if err := checkReadable(h, place, "run 'hallmark undo', which gives your clients their files back, "); err != nil {
		return nil, err
	}
	before, err := scanUser(ctx, h, o)
	if err != nil {
		return nil, err
	}
	unread, all := before.Unread()
	r.Unread = unread
	for _, s := range before.Servers {
		all = append(all, r.add(h, s, host.RealPath(place)))
	}
	if o.Dry {
		return r, errors.Join(all...)
	}
	if slices.ContainsFunc(r.Clients, func(c *ProtectedClient) bool { return len(c.Open()) > 0 }) {
		if err := checkStartable(h, o.Program); err != nil {
			return r, err
		}
	}
	for _, c := range r.Clients {
		if err := protectClient(ctx, h, c, o); err != nil {
			all = append(all, err)
			for _, s := range c.Open() { // of which nothing else is said
				s.Err = err
				s.fail()
			}
			if ctx.Err() != nil {
				break
			}
		}
		if o.Done != nil {
			o.Done(*c)
		}
	}
	return r, errors.Join(all...)
}

// checkStartable returns why clients could not start protected servers: the approvals would be beside the lock, or
// program is none that they can start.
func checkStartable(h *host.Host, program string) error {
	place := h.Places.Config
	if len(h.Places.Arguments()) > 0 && h.Places.State == place {
		return evidence.Errorf(evidence.Refused, place, "set XDG_STATE_HOME to another directory than "+
			"XDG_CONFIG_HOME, or HALLMARK_HOME in the place of both",
			errors.New("would hold your approvals beside the lock, and a server that a client starts without "+
				"these variables would be refused"))
	}
	return clients.CheckProgram(program, h.Getenv)
}

// checkReadable returns why the project in dir cannot be read; nil if it can, or if there is none. first is what its
// hint says to do before the directory is moved away.
func checkReadable(h *host.Host, dir, first string) error {
	w, err := workspace.Peek(h, dir)
	if err != nil {
		return nil // Pin begins it
	}
	if err = w.ReadFiles(); err == nil {
		return nil
	}
	why, _, _ := strings.Cut(err.Error(), "\n")
	return evidence.Errorf(evidence.ClassOf(err), dir,
		"bring back a copy of it; or "+first+"move the directory away, and run 'hallmark protect' again",
		fmt.Errorf("cannot be read: %s", why))
}

// scanUser scans the files of the user's clients.
func scanUser(ctx context.Context, h *host.Host, o ProtectOptions) (*Result, error) {
	found, err := Scan(ctx, h, Options{Clients: o.Clients, Dir: h.Places.Config, Home: o.Home, Program: o.Program})
	if err != nil {
		return nil, err
	}
	found.Servers = slices.DeleteFunc(found.Servers, func(s Server) bool { return s.Client == "hallmark" })
	return found, nil
}

// notCarried says that the entry of a protected server does not name the directories that a variable of this
// environment moves, as one that was written before the variable was set; "" if it does.
func notCarried(h *host.Host, s Server) string {
	if s.State != StateGuarded || len(h.Places.Arguments()) == 0 ||
		slices.Contains(s.Arguments, h.Places.Arguments()[0]) {
		return ""
	}
	return "its entry does not say where its approvals are, which HALLMARK_HOME or an XDG variable moves here: a " +
		"client that withholds such variables does not start it"
}

// client returns the client with an id, which is added if it is not there.
func (r *ProtectResult) client(id string) *ProtectedClient {
	i := slices.IndexFunc(r.Clients, func(c *ProtectedClient) bool { return c.ID == id })
	if i < 0 {
		i = len(r.Clients)
		r.Clients = append(r.Clients, &ProtectedClient{ID: id, Name: clients.Title(id)})
	}
	return r.Clients[i]
}

// add adds a scanned server, with what can be done about it. Its error is about one that was protected, and is not
// any more. place is the project of the user's own clients.
func (r *ProtectResult) add(h *host.Host, s Server, place string) error {
	if s.Starts != clients.StartsServer {
		return nil
	}
	client, back := r.client(s.Client), ""
	out := &ProtectedServer{File: s.File, Line: s.Line, Scope: s.Scope, Name: s.Name,
		Starts: s.CommandLine(), moved: s.Renew == renewProtect}
	client.Servers = append(client.Servers, out)
	if s.Runs != nil {
		out.Server, out.Ref, back = s.Runs.Name, s.Runs.Ref, undoHint(s.Name)+" gives it back what it started"
	}
	switch {
	case s.State == StateGuarded, s.State == StateEditor:
		out.Outcome, out.Reason = OutcomeAlready, autoApproved(s)
		if missing := notCarried(h, s); missing != "" && s.Runs != nil && s.Runs.Project == place {
			out.Reason = missing
			out.Hint = undoHint(s.Name) + " and 'hallmark protect' write it anew"
		}
	case s.State == StateOff:
		out.Outcome, out.Reason = OutcomeLeft, "is switched off in its client"
	case s.System:
		out.Outcome, out.Reason = OutcomeLeft, "its file is the machine's, which its administrator manages"
	case s.Installed:
		out.Outcome = OutcomeLeft
		out.Reason = "is part of a plugin or an extension of its client, whose next version writes it anew"
		out.Hint = "switch it off there, add the server to the client itself, and run 'hallmark protect' again"
	case s.State == StateUnapproved && s.Runs.Project == place:
		out.Err = evidence.Errorf(evidence.Refused, s.Name, "'hallmark review "+host.QuoteArguments([]string{
			s.Runs.Name, "--project", place})+"'", errors.New("is locked, and not approved on this machine any more"))
		out.fail()
	case s.State == StateUnapproved:
		out.Outcome, out.Reason = OutcomeLeft, "is locked, and you have not approved it on this machine"
		out.Hint = "'hallmark review " + host.QuoteArguments([]string{s.Runs.Name, "--project", s.Runs.Project}) + "'"
	case s.Command == "" && s.URL == "":
		out.Outcome, out.Reason = OutcomeLeft, "is not started by a command that can be read"
	case out.moved: // by its user, or by somebody who wanted another program started
		out.Outcome, out.Reason = OutcomeOpen, "its entry is written anew: "+reasonOf(s)
	case s.Runs != nil && s.Runs.Project == place:
		out.Err = evidence.Errorf(evidence.Refused, s.Name, restoring(h, s),
			fmt.Errorf("is not protected any more: %s", reasonOf(s)))
		out.fail()
	case s.Runs != nil || clients.ProgramName(s.Command) == "hallmark":
		out.Outcome, out.Reason = OutcomeLeft, "starts Hallmark, but is not protected: "+reasonOf(s)
		out.Hint = back
	default:
		out.Outcome = OutcomeOpen
	}
	return out.Err
}

// undoHint is the command that gives an entry back what it started.
func undoHint(name string) string {
	return "'hallmark undo " + host.QuoteArguments([]string{name}) + "'"
}

// restoring says how an entry is protected again that is not any more: by 'hallmark undo', which refuses one whose
// arguments were edited.
func restoring(h *host.Host, s Server) string {
	w := workspace.Workspace{Host: h, Dir: s.Runs.Project}
	args := w.RunArguments(s.Runs.Name)
	if slices.Equal(s.Arguments, args) {
		return undoHint(s.Name) + " gives it back what it started, and 'hallmark protect' locks that anew"
	}
	text, _ := json.Marshal(args) // of texts
	return "its arguments were edited: write " + string(text) + " as its arguments again"
}

// autoApproved says that a client calls the tools of a server without asking; "" if it does not.
func autoApproved(s Server) string {
	if len(s.AutoApprove) == 0 {
		return ""
	}
	return "its client calls tools without asking: " + strings.Join(s.AutoApprove, ", ")
}

// reasonOf returns why a scan refuses a server.
func reasonOf(s Server) string {
	for _, f := range s.Findings {
		if f.Class != evidence.OK && f.Evidence.Reason != "" {
			return f.Evidence.Reason
		}
	}
	return "see 'hallmark scan'"
}

// protectClient protects the servers of one client that can be.
func protectClient(ctx context.Context, h *host.Host, c *ProtectedClient, o ProtectOptions) error {
	open := c.Open()
	if len(open) == 0 {
		return nil
	}
	if o.Allow != nil {
		if yes, err := o.Allow(*c); err != nil {
			return err
		} else if !yes {
			for _, s := range open {
				s.Outcome, s.Reason = OutcomeLeft, "you did not agree"
			}
			return nil
		}
	}
	pinned, err := pinClient(ctx, h, c.ID, open, o)
	ctx = context.WithoutCancel(ctx) // what became of the entries is said, also of one that was interrupted
	after, scanned := scanUser(ctx, h, o)
	if scanned != nil {
		return errors.Join(err, scanned)
	}
	p := &protection{h: h, client: c.ID, home: o.Home, after: after.Servers}
	if pinned == 0 {
		p.failed = err
	}
	var all []error
	for _, s := range open {
		if p.settle(ctx, s); s.Outcome != OutcomeProtected {
			all = append(all, s.Err)
		}
	}
	return errors.Join(all...)
}

// pinClient has entries start this program that start another file of it, pins the other open servers of a client,
// rewrites their entries, and stores in each what came of it. It returns how many results there are.
func pinClient(ctx context.Context, h *host.Host, client string, open []*ProtectedServer,
	o ProtectOptions) (int, error) {
	var moved []pin.Entry
	for _, s := range open {
		if s.moved {
			moved = append(moved, pin.Entry{File: s.File, Scope: s.Scope, Name: s.Name})
		}
	}
	if len(moved) > 0 {
		err := pin.MoveProgram(ctx, h, h.Places.Config, moved, o.Program)
		if err != nil || len(moved) == len(open) {
			return 0, err
		}
	}
	p := o.Pin
	p.From, p.WriteConfig, p.Keep, p.Program = pin.ClientFiles{Client: client, Home: o.Home}, true, true, o.Program
	p.Confirm = func(*pin.Pinned) (host.Consent, error) { return host.StandingConsent, nil }
	pinned, err := pin.Pin(ctx, h, h.Places.Config, nil, p)
	for _, x := range pinned {
		for _, e := range x.Entries {
			if s := findServer(open, e); s != nil {
				s.Server, s.Ref, s.Items, s.Err = x.Name, x.Entry.Ref, len(x.Entry.SurfaceItems), x.Err
				if !x.Written {
					s.Server = ""
				}
			}
		}
	}
	return len(pinned), err
}

// protection is what is known of a client after its servers were pinned.
type protection struct {
	h      *host.Host
	client string
	home   string   // the user's
	after  []Server // those that a scan finds now
	failed error    // why nothing was pinned
}

// settle sets the outcome of a server that was to be protected. If its entry was rewritten and is not guarded, the
// entry gets back what it was.
func (p *protection) settle(ctx context.Context, s *ProtectedServer) {
	i := slices.IndexFunc(p.after, func(x Server) bool {
		return x.Client == p.client && x.File == s.File && x.Scope == s.Scope && x.Name == s.Name
	})
	switch {
	case i >= 0 && p.after[i].State == StateGuarded:
		s.Outcome, s.Reason, s.Err = OutcomeProtected, cmp.Or(autoApproved(p.after[i]), s.Reason), nil
		s.Server, s.Ref = p.after[i].Runs.Name, p.after[i].Runs.Ref
		return
	case s.moved && p.failed == nil && i >= 0 && p.after[i].Runs != nil: // as one that its client renamed
		s.Err = evidence.Errorf(evidence.Refused, s.Name, restoring(p.h, p.after[i]),
			errors.New(reasonOf(p.after[i])))
	case s.Err == nil && s.Server != "" && !s.moved: // its entry was rewritten
		why := "its entry is not found in the file"
		if i >= 0 {
			why = reasonOf(p.after[i])
		}
		s.Err = p.giveBack(ctx, s, why)
	case s.Err == nil && p.failed != nil:
		s.Err = p.failed
	case s.Err == nil:
		s.Err = evidence.Errorf(evidence.Refused, s.Name, "",
			errors.New("is written in a way that is not taken over"))
	}
	s.fail()
	s.Hint = hintFor(s, p.client, p.h.Places.Config)
}

// hintFor returns the hint of a server of a client that failed. 'hallmark pin NAME' in it is about a server that is
// declared, and this one is not yet.
func hintFor(s *ProtectedServer, client, place string) string {
	return strings.NewReplacer("'hallmark pin "+s.Name+"'", "'hallmark protect'",
		"'hallmark pin "+s.Name+" ", "'hallmark pin "+host.QuoteArguments([]string{
			s.Name, "--client", client, "--write-config", "--project", place})+" ").Replace(s.Hint)
}

// findServer returns the server of an entry, nil if there is none among them.
func findServer(servers []*ProtectedServer, e pin.Entry) *ProtectedServer {
	for _, s := range servers {
		if s.File == e.File && s.Scope == e.Scope && s.Name == e.Name {
			return s
		}
	}
	return nil
}

// fail takes the reason and the hint from the error.
func (s *ProtectedServer) fail() {
	s.Outcome, s.Reason = OutcomeFailed, artifact.RedactURLs(s.Err.Error())
	var problem *evidence.Error
	missing := slices.IndexFunc(strings.Fields(s.Starts), func(word string) bool {
		return filepath.IsAbs(word) && errors.Is(s.Err, fs.ErrNotExist) && strings.Contains(s.Reason, word)
	})
	switch {
	case errors.Is(s.Err, context.Canceled): // whatever was fetched for another server just then
		s.Reason = "interrupted; it is as before"
	case missing >= 0:
		s.Reason = "starts " + strings.Fields(s.Starts)[missing] + ", which is not there"
		s.Hint = "put it there, or take the entry out of " + s.File
	case errors.As(s.Err, &problem):
		s.Hint = artifact.RedactURLs(problem.Hint)
		plain := *problem
		if plain.Hint = ""; strings.Contains(plain.Subject, s.Name) {
			plain.Subject = ""
		}
		s.Reason = artifact.RedactURLs(plain.Error())
	}
	mend := fmt.Sprintf("correct the entry %s in %s, and run 'hallmark protect' again", clients.QuoteText(s.Name),
		s.File)
	switch missing := (*closure.MissingError)(nil); {
	case errors.As(s.Err, &missing):
		s.Reason, s.Hint = missing.Error(), mend
	case errors.Is(s.Err, foreign.ErrNotFound):
		s.Hint = "install the program, or " + mend
	case s.Hint == "" && evidence.ClassOf(s.Err) == evidence.Refused:
		s.Hint = mend
	}
}

// giveBack restores an entry that a scan does not call guarded, although it was rewritten, and returns an error that
// says why. The server stays locked if another entry starts it.
func (p *protection) giveBack(ctx context.Context, s *ProtectedServer, why string) error {
	used := slices.ContainsFunc(p.after, func(x Server) bool {
		return x.State == StateGuarded && x.Runs != nil && x.Runs.Name == s.Server
	})
	_, err := pin.Unpin(ctx, p.h, p.h.Places.Config, []string{s.Server}, pin.UnpinOptions{
		Files: pin.ClientFiles{Client: p.client, Home: p.home}, KeepLock: used, Undeclare: !used, Each: true})
	return errors.Join(evidence.Errorf(evidence.Refused, s.Name, "",
		fmt.Errorf("would not be protected, and is as before: %s", why)), err)
}
