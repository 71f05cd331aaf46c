package hashfile

import (
	"log/slog"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// Limits that a zero in Config stands for.
const (
	DefaultMaxFile    = 64 << 20 // bytes of a file
	DefaultMaxRequest = 10 << 20 // bytes of a message from the client
	DefaultReadTokens = 18_000   // of an answer, estimated, unless max_bytes is given; clients cut more than 25,000
	DefaultRootsWait  = 15 * time.Second
)

// Config describes a server.
type Config struct {
	Roots        []string // directories that may be used; none leaves it to the client's roots
	ReadOnly     bool     // offer no tool that writes
	HardLinks    bool     // write files with several names, in place
	ExactAnchors bool     // never move an anchor
	MaxMove      int      // most lines that an anchor is moved; 0 is any distance
	TagWidth     int      // hex digits, 2 to 4; 0 is 2
	MaxFile      int64    // bytes; 0 is DefaultMaxFile, as for those below
	MaxRequest   int
	ReadTokens   int
	RootsWait    time.Duration // for a client that is asked for its roots
	Locks        string        // directory for lock files, made if it is missing; none refuses what writes
	Version      string
	Logger       *slog.Logger
}

// Server serves one client.
type Server struct {
	c       Config
	roots   *place.Source
	engine  *engine.Engine
	offered map[string]tool // by name
}
