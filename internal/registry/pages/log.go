package pages

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// maxEntries is how many entries of the log a page shows.
const maxEntries = 50

// logEntry is an entry of the log as a page shows it.
type logEntry struct {
	Index int64
	Leaf  ledger.Leaf
	Page  string // of what it is about; "" if there is none
	Bad   string // why it cannot be read
}

// About is the kind of what the entry is about.
func (e logEntry) About() ledger.Kind {
	if e.Leaf.Kind.Publishes() {
		return e.Leaf.Kind
	}
	return e.Leaf.Of
}

// logData is what the page of the log shows.
type logData struct {
	Size       int64
	Root, Key  string
	Checkpoint string
	Broken     string // why nothing is signed any more
	Entries    []logEntry
	Older      string // path of the page of the entries before
	Newest     bool   // it is the first page
}

// log is the log's head, and its entries from the newest on.
func (p *pages) log(r *http.Request) (*view, error) {
	head := p.Log.Head()
	params := api.Parameters{Values: r.URL.Query()}
	before := head.Size
	text := params.Text("before", 20)
	if params.Err != nil {
		return nil, params.Err
	}
	if text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, registry.NewProblem(http.StatusBadRequest, "before is not the number of an entry")
		}
		before = min(n, head.Size)
	}
	entries, err := p.entriesBefore(r.Context(), before, maxEntries)
	if err != nil {
		return nil, err
	}
	data := logData{Size: head.Size, Root: head.Root.String(), Key: p.Log.Key(), Checkpoint: string(p.Log.Checkpoint()),
		Entries: entries, Newest: before == head.Size}
	if err := p.Log.Broken(); err != nil {
		data.Broken = log.Reason(err)
	}
	if n := before - int64(len(entries)); n > 0 && len(entries) > 0 {
		data.Older = "/log?before=" + strconv.FormatInt(n, 10)
	}
	return &view{Template: "log", Title: "Log", Section: "Log", Data: data}, nil
}

// entriesBefore are up to n entries before the one with an index, newest first.
func (p *pages) entriesBefore(ctx context.Context, before int64, n int) ([]logEntry, error) {
	first := max(before-int64(n), 0)
	if first == before {
		return nil, nil
	}
	leaves, err := p.Log.Entries().LogEntries(ctx, first, int(before-first))
	if err != nil {
		return nil, err
	}
	out := make([]logEntry, len(leaves))
	for i, text := range leaves {
		out[len(leaves)-1-i] = p.readEntry(first+int64(i), text)
	}
	return out, nil
}

func (p *pages) readEntry(index int64, text []byte) logEntry {
	e := logEntry{Index: index}
	var err error
	if e.Leaf, err = ledger.ParseLeaf(text); err != nil {
		e.Bad = err.Error()
		return e
	}
	for _, kind := range p.kinds() {
		if kind == e.About() {
			e.Page = versionPath(kind, e.Leaf.Name, e.Leaf.Version)
		}
	}
	return e
}

// entryData is what the page of an entry shows.
type entryData struct {
	Entry logEntry
	Text  string // as it is hashed
	Proof proofText
}

// entry is one entry with its proof.
func (p *pages) entry(r *http.Request) (*view, error) {
	none := registry.NewProblem(http.StatusNotFound, "the log has no such entry")
	index, err := strconv.ParseInt(r.PathValue("index"), 10, 64)
	if err != nil || index < 0 || strconv.FormatInt(index, 10) != r.PathValue("index") || index >= p.Log.Head().Size {
		return nil, none
	}
	leaves, err := p.Log.Entries().LogEntries(r.Context(), index, 1)
	if err != nil {
		return nil, err
	}
	if len(leaves) != 1 {
		return nil, none
	}
	data := entryData{Entry: p.readEntry(index, leaves[0]), Text: string(leaves[0])}
	data.Proof, err = p.proofOf(r.Context(), index)
	return &view{Template: "entry", Title: "Entry " + strconv.FormatInt(index, 10), Section: "Log", Data: data}, err
}

// proofText is the proof of an entry, or why there is none.
type proofText struct {
	Index  int64
	Text   string // C2SP tlog-proof
	Reason string
}

// proofWait is how long a page waits for an entry to be signed.
const proofWait = 2 * time.Second

func (p *pages) proofOf(ctx context.Context, index int64) (proofText, error) {
	ctx, cancel := context.WithTimeout(ctx, proofWait)
	defer cancel()
	proof, err := p.Log.ProveServed(ctx, index)
	if errors.Is(err, log.ErrBroken) || errors.Is(err, registry.ErrUnavailable) {
		return proofText{Index: index, Reason: log.Reason(err)}, nil
	}
	return proofText{Index: index, Text: string(proof)}, err
}
