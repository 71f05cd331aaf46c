package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Config is what a registry is made of. Records is required, and Check unless
// validation is off.
type Config struct {
	Records registry.Records

	// Check fetches what doc's packages give, recomputes every claim of the document
	// and of the package registries, and looks at ownership. What went wrong with a
	// claim is in the report; an error is a fault of this machine, or of the document
	// if its class is evidence.Validation. It is called concurrently.
	Check func(ctx context.Context, doc *serverjson.Document) (evidence.Report, error)

	// IsAsked reports whether packages of a kind and name are fetched from the registry at base, where that is not the
	// usual one of the kind. nil: no package is.
	IsAsked func(kind artifact.Kind, name, base string) bool

	// The policy, unless CurrentPolicy gives another one for each request.
	Validation     registry.Validation // "" is Enforce
	AllowAnonymous bool                // publishes without a token are taken
	// NoneIsAnonymous takes a publish with a token of the login without proof for one without a token, where these are
	// taken: there are clients that always send a token.
	NoneIsAnonymous bool
	RequireHashes   bool                   // a package without a claim is refused
	CurrentPolicy   func() Policy          // may be nil
	Statuses        registry.Statuses      // nil: the status of records stays
	Tokens          registry.Tokens        // nil: there are no API tokens
	Issuer          *Issuer                // nil: nobody logs in
	Logins          []registry.LoginMethod // that are offered, as far as Outside has what they need
	Outside         Outside                // for logins
	GitHubClient    string                 // id of the OAuth application that clients log in to GitHub with
	Limits          Limits                 //
	Logger          *slog.Logger           // nil discards
	Version         string                 // of the program, as records and /version tell it
	Now             func() time.Time       // nil is time.Now
	Timeout         time.Duration          // of a whole publish; 0 is DefaultTimeout
	Counters        *Counters              // nil counts for nobody
	Commit, Built   string                 // of the program, as /version tells them; may be empty

	Log   *log.Log       // signs and proves what is published; nil: nobody does
	Blobs registry.Blobs // what /health looks at besides Records; nil if there are none
	// The archives that are taken besides documents, what their records are kept in, and
	// how they come and go. The rest of Transport is filled in for each kind.
	Archives       []registry.ArchiveKind
	ArchiveRecords registry.ArchiveRecords
	Transport      Archives

	Further []*Archives // kinds of archives beside these, which need no records
}
