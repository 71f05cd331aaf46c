package scan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/surface"
)

// News says how an entry of the user's own files differs from what this machine saw when it looked last.
type News string

// The values of News. An entry that was there, as it is, has none.
const (
	NewEntry     News = "new"
	ChangedEntry News = "changed" // it starts something else
	// LostEntry is one that was protected, and that its client or its user wrote anew. It stays so until it is
	// protected again, or given up with 'hallmark undo'.
	LostEntry News = "unprotected"
)

// maxSeen bounds the file of what was seen, in bytes, and maxSeenEntries the entries in it.
const (
	maxSeen        = 16 << 20
	maxSeenEntries = 50_000
)

// seenServers is the file of what this machine saw of the user's own clients, when it looked last. Nothing relies on
// it: without it nothing is news.
type seenServers struct {
	Version int       `json:"seen_version"` // 1
	Looked  time.Time `json:"looked"`
	// Entries are SHA-256 digests, in hex: of what an entry starts, by that of its client, and, after a hyphen, of its
	// file, scope and name. That of an entry that Hallmark guards is empty, because it is the entry before that returns
	// when it is given back.
	Entries map[string]string `json:"entries"`
}

// FindNews sets News of the servers of the user's own files in r, which a scan with o found, and what is seen now is
// remembered. It does nothing for a scan of a project or of files that were named.
func (r *Result) FindNews(ctx context.Context, h *host.Host, o Options) error {
	if o.Project || len(o.Paths) > 0 || o.Home == "" {
		return nil
	}
	if err := os.MkdirAll(h.Places.State, 0o700); err != nil {
		return err
	}
	unlock, err := durable.Lock(ctx, filepath.Join(h.Places.State, "seen.lock"), "what was seen")
	if err != nil {
		return err
	}
	defer unlock()
	name := filepath.Join(h.Places.State, "seen.json")
	before, err := readSeen(name)
	if err != nil {
		return err
	}
	if len(o.Clients) > 0 && before.Looked.IsZero() {
		return nil // the first look is one at all clients, so that none of them is news later
	}
	now := seenServers{Version: 1, Looked: time.Now().UTC().Truncate(time.Second), Entries: before.without(o.Clients)}
	if !before.Looked.IsZero() {
		r.Looked = &before.Looked
	}
	times := map[string]int{}
	for i := range r.Servers {
		s := &r.Servers[i]
		if !s.User || s.Starts != clients.StartsServer {
			continue
		}
		place := digestOf(s.Client, realFile(o.Dir, s.File), s.Scope, s.Name)
		times[place]++ // a file may have a member twice
		key := digestOf(s.Client) + "-" + digestOf(place, strconv.Itoa(times[place]))
		if now.Entries[key] = before.compare(key, s); isLost(o.Dir, s) {
			s.News = LostEntry
		}
	}
	if len(now.Entries) > maxSeenEntries {
		return fmt.Errorf("there are more than %d servers", maxSeenEntries)
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return durable.WriteFile(name, append(data, '\n'), 0o600)
}

// without returns the entries that a look at some clients keeps: those of the others. A look at all has no ids.
func (before seenServers) without(ids []string) map[string]string {
	kept := map[string]string{}
	if len(ids) > 0 {
		maps.Copy(kept, before.Entries)
	}
	for _, id := range ids {
		maps.DeleteFunc(kept, func(key, _ string) bool { return strings.HasPrefix(key, digestOf(id)+"-") })
	}
	return kept
}

// realFile returns the absolute path of a file that is named from dir, links resolved as far as that can be done.
func realFile(dir, file string) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	return file
}

// compare sets News of a server by what was seen under the key of its entry. It returns the digest of what the server
// starts, which is to be remembered; of one that Hallmark guards that of before.
func (before seenServers) compare(key string, s *Server) (starts string) {
	starts = digestOf(slices.Concat([]string{s.Command, s.URL}, s.Arguments, []string{"\x01"},
		slices.Sorted(slices.Values(s.Variables)))...)
	was, known := before.Entries[key]
	switch {
	case s.State == StateGuarded || s.State == StateEditor:
		return was
	case before.Looked.IsZero():
	case !known:
		s.News = NewEntry
	case was != "" && was != starts:
		s.News = ChangedEntry
	}
	return starts
}

// isLost reports whether the entry of s was rewritten to start hallmark run, was not given back, and starts something
// else now.
func isLost(dir string, s *Server) bool {
	if s.State != StateOpen && s.State != StatePinned && s.State != StateVerified || s.Runs != nil {
		return false
	}
	file := s.File
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	kept, _ := clients.LoadOriginals(file) // 'hallmark undo' says why they cannot be read
	return slices.ContainsFunc(kept, func(o clients.Original) bool {
		return o.Added == "" && o.Scope == s.Scope && o.Name == s.Name
	})
}

// readSeen reads the file of what was seen. One that is missing, or damaged, holds nothing; one of a later version is
// an error.
func readSeen(name string) (seenServers, error) {
	data, err := host.ReadFile(name, maxSeen)
	if err != nil {
		return seenServers{}, err
	}
	var version struct {
		Version int `json:"seen_version"`
	}
	if len(data) == 0 || surface.DecodeKnown(data, &version) != nil {
		return seenServers{}, nil
	}
	if version.Version != 1 {
		return seenServers{}, evidence.Errorf(evidence.Validation, name, "use the version of hallmark that wrote it, "+
			"or remove it",
			errors.New("is of a later version"))
	}
	var s seenServers
	if err := surface.Decode(data, &s); err != nil {
		return seenServers{}, nil
	}
	for key := range s.Entries {
		if !strings.Contains(key, "-") { // of no client, so that each server would be called new
			return seenServers{}, nil
		}
	}
	return s, nil
}

// digestOf is a digest of texts.
func digestOf(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:])
}
