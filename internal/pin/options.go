package pin

import (
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Options say how to pin.
type Options struct {
	Settings policy.Settings
	// Confirm shows what would be locked and asks for consent.
	Confirm func(*Pinned) (host.Consent, error)
	// Begin is called before anything is sent to a server that is reached by its URL, unless this
	// machine approved its present declaration. Nil means yes: the caller has asked.
	Begin func(project.Server) (bool, error)
	// Start is called before the program of a server is started to capture its surface, with
	// everything that is known about it by then, because a checkout decides which program that is.
	// It is not called for approved bytes. Nil means yes.
	Start func(*Pinned) (bool, error)
	// Capture bounds one start that captures the whole surface; 0 is a minute.
	Capture time.Duration
	Dry     bool // ask, or rather show, and write nothing whatever the answer
	Log     trail.Options
	// AllowScripts are names of npm packages whose install scripts run, in addition to those that
	// were allowed, at exactly the same version, when the lock was written.
	AllowScripts []string
	// From selects files of clients, whose servers are declared in hallmark.toml and pinned. The
	// zero value pins the servers that it declares already.
	From ClientFiles
	// Tree is written into hallmark.toml as the tree of the one server that is pinned; "" changes nothing.
	Tree string
	// WriteConfig makes the entries in those files start "hallmark run".
	WriteConfig bool
	// Program is the file of this program, which entries of the user's own files start then; "" is "hallmark", which
	// their client finds in its PATH.
	Program string
	// Keep leaves servers as they are that are locked and approved as they are declared, and only rewrites their
	// entries.
	Keep bool
}

// Pinned is the result of [Pin] for one server.
type Pinned struct {
	Name     string
	Entry    project.ServerLock
	Before   *project.ServerLock // the entry that is replaced, or nil
	Verdict  policy.Verdict      // of all evidence; of all but the consent when it is asked for
	Surface  *surface.Surface
	Varying  map[string]string   // items that are withheld as they differ from start to start, by key, and how
	Changes  []surface.Change    // since Before
	Weaker   []project.Weakening // what was accepted and is declared no more
	Runtime  *project.Runtime    // the interpreter of this machine, or nil
	Packages []string            // packages of the closure, "npm:name@version"
	Verified int                 // files of those that this platform needs, all of which were verified
	Moved    []kind.MovedPackage // what Before had not, or had with other bytes
	Scripts  []string            // packages whose install scripts were not run
	Wanted   []string            // variables that a record asks for and hallmark.toml does not declare
	Unseen   bool                // a dry run to whose start nobody consented: what it shows is not known
	Same     bool                // the same bytes as Before show another surface
	Release  *fetch.Release      // what the package registry says of the version; nil: it has nothing to say
	Replaced *fetch.Release      // and of the version of Before, if it is another one
	Files    *kind.ChangedFiles  // what differs from the package of Before; nil: there is nothing to compare
	Claimed  digest.Digest       // api_surface that its publisher claims; zero if it claims none
	Preview  kind.Preview        // what it gets, and where it comes from
	Written  bool
	Clients  []string // the files of clients that start it by hallmark run now
	Entries  []Entry  // the entries of clients that were taken over, or were to be
	Err      error    // why it is not pinned
}

// Entry names an entry of a client's file.
type Entry struct{ File, Scope, Name string }

// Consent returns the digest that consent is bound to.
func (p *Pinned) Consent() digest.Digest { return project.Consent(p.Entry, p.Runtime) }
