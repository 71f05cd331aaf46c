// Package hashfile is the MCP server that reads and edits text files by line hashes, on
// standard input and output. What an edit does to bytes is package hashline's; here is
// everything between the bytes and the model: which files, in which state, written how.
//
// # Confinement
//
// An allowed directory is a path. Each call looks up anew what has the path, opens it, and
// uses that handle to its end: a directory that was moved away is not used any more, and
// the one in its place is; see [namedRoot]. A path is resolved by this package, component by
// component, from that handle: links are read and followed here, each directory on the way is
// opened below the one before it (os.Root) and must be the one that was looked at, and
// the last component is opened without following a link, without blocking, and must be a
// regular file by fstat. What is checked is therefore what is used, whatever is renamed
// or replaced meanwhile; there is no path to be resolved a second time.
//
// Allowed directories are those of Config.Roots; a client's roots narrow them, and
// stand for themselves only if there are none. The client is asked before each call,
// unless it tells of changes, and a call without its answer is refused. The rules in the front matter of AGENTS.md
// files apply to the resolved path: see [ruleSet].
//
// # Writing
//
// A file is replaced by a new one in the same directory, with the mode, owner and
// extended attributes of the old, after fsync, under an advisory lock that all processes
// of the user share. Where the system can exchange two files (Linux), the old one is looked at after
// the exchange, and if it is not what the edit was made for, exchanged back: a writer who
// knows nothing of the lock loses nothing. Elsewhere a moment remains between the last
// look and the replacement.
//
// # Limits
//
// A hard link to a forbidden file is a file of its own name. A writer who holds the old file
// open while it is replaced, and writes later, writes into a file without a name.
package hashfile

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/disk"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
)

// Limits that a zero in Config stands for.
const (
	DefaultMaxFile    = 64 << 20  // bytes of a file
	DefaultMaxRequest = 10 << 20  // bytes of a message from the client
	DefaultReadLines  = 2000      // lines of an answer, unless max_bytes is given
	DefaultReadBytes  = 256 << 10 // bytes likewise
	DefaultRootsWait  = 15 * time.Second
)

// Config describes a server.
type Config struct {
	Roots        []string // directories that may be used; none leaves it to the client's roots
	ReadOnly     bool     // offer no tool that writes
	HardLinks    bool     // write files with several names, in place
	ExactAnchors bool     // never move an anchor
	TagWidth     int      // hex digits, 2 to 4; 0 is 2
	MaxFile      int64    // bytes; 0 is DefaultMaxFile, as for those below
	MaxRequest   int
	ReadLines    int
	ReadBytes    int
	RootsWait    time.Duration // for a client that is asked for its roots
	Locks        string        // directory for lock files, made if it is missing
	Version      string
	Logger       *slog.Logger
}

// Server is one server for one client.
type Server struct {
	c      Config
	roots  *roots.Source
	writer *disk.Writer
	reader *contents.Reader
	texts  *texts.Texts
	server *mcp.Server
}

// New makes a server. The allowed directories have to be there.
func New(c Config) (*Server, error) {
	c.MaxFile = min(orDefault(c.MaxFile, DefaultMaxFile), hashline.MaxSize)
	c.MaxRequest = orDefault(c.MaxRequest, DefaultMaxRequest)
	c.ReadLines = orDefault(c.ReadLines, DefaultReadLines)
	c.ReadBytes = orDefault(c.ReadBytes, DefaultReadBytes)
	c.RootsWait = orDefault(c.RootsWait, DefaultRootsWait)
	c.TagWidth = orDefault(c.TagWidth, hashline.MinWidth)
	if c.TagWidth < hashline.MinWidth || c.TagWidth > hashline.MaxWidth {
		return nil, errors.New("tags have 2, 3 or 4 digits")
	}
	if c.MaxFile < 0 || c.MaxRequest < 0 || c.ReadLines < 0 || c.ReadBytes < 0 || c.RootsWait < 0 {
		return nil, errors.New("a limit is negative")
	}
	source, err := roots.NewSource(c.Roots, c.RootsWait)
	if err != nil {
		return nil, err
	}
	s := &Server{c: c, roots: source, reader: contents.NewReader(c.MaxFile), writer: disk.NewWriter(c.Locks, c.HardLinks), texts: texts.New()}
	s.server = mcp.NewServer(&mcp.Implementation{Name: "hashfile", Title: "Hashfile", Version: c.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Logger:       c.Logger,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
			RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) {
				s.roots.NoteChange()
			},
		})
	s.addTools()
	return s, nil
}

func orDefault[T int | int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Run serves one client until it closes in, or ctx ends.
func (s *Server) Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	session, err := s.server.Connect(ctx,
		&mcp.IOTransport{Reader: in, Writer: s.texts.Writer(out), MaxLineLength: s.c.MaxRequest}, nil)
	if err != nil {
		return err
	}
	// The SDK's own Run does the same, and logs what is returned here.
	defer context.AfterFunc(ctx, func() { session.Close() })()
	err = session.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// Close releases the allowed directories. No call may be running.
func (s *Server) Close() { s.roots.Close() }

const instructions = `Text files are read with each line as NUMBER:TAG|CONTENT. To edit, give file_hash and the
anchors NUMBER:TAG of the lines concerned as they were read; never repeat old text, and never put NUMBER:TAG| into
content. An edit answers with the new file_hash and fresh lines, so that the next edit of the file needs no reading. If
an edit is refused as stale, use the fresh lines in the answer.`
