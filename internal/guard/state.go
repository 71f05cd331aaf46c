package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// State is what is known about the surface of one server process, and how it differs from what
// was approved. It is not safe for concurrent use.
type State struct {
	approved map[string]digest.Digest
	exclude  map[surface.Kind]bool
	varying  map[string]Drift // what is withheld whatever it shows, and reported by nobody
	judge    JudgeFunc

	// Drift that the guard's own last listing showed, by key. A listing replaces
	// that of its kinds.
	listed jsonrpc.Map[Drift]
	// Drift in answers to the client since then. It lasts until an answer to the
	// client shows the item as approved: a server that shows the guard another
	// surface than the client gains nothing.
	answered jsonrpc.Map[Drift]
	// All drift that was ever in answered, for reports.
	reported jsonrpc.Map[Drift]
	// Kinds of which more drifted than can be remembered. They stay so: what was not
	// remembered cannot be told from what was approved.
	overflown map[surface.Kind]bool

	// Approved items that the guard's own last listing of their kind did not show; true if
	// the kind could be listed.
	absent map[string]bool

	failed  map[surface.Kind]string // kinds that could not be listed, and why
	listing surface.Listing         // as last listed, kind by kind
	sizes   map[surface.Kind]int    // bytes of listing
}

// NewState is the state before anything was listed. A nil judge is Judge.
func NewState(a Approved, judge JudgeFunc) *State {
	if judge == nil {
		judge = Judge
	}
	varying := map[string]Drift{}
	for _, key := range a.Varying {
		varying[key] = Drift{Key: key, Reason: Varying}
	}
	return &State{
		varying: varying, approved: a.Items, exclude: a.Exclude, judge: judge,
		absent: map[string]bool{}, overflown: map[surface.Kind]bool{}, failed: map[surface.Kind]string{},
		sizes: map[surface.Kind]int{},
	}
}

// item is one item of a listing with its judgement.
type item struct {
	name  string
	drift *Drift // nil if it may be shown
}

// judgeItems judges the items of one listing or page. Of items with the same name each is a
// duplicate.
func (s *State) judgeItems(kind surface.Kind, raw []json.RawMessage) []item {
	out := make([]item, len(raw))
	first := make(map[string]int, len(raw))
	for i, r := range raw {
		out[i] = s.judgeItem(kind, r, i)
		if at, again := first[out[i].name]; again {
			for _, k := range []int{at, i} {
				d := Drift{Key: key(kind, out[i].name), Reason: Duplicate, Want: s.approved[key(kind, out[i].name)]}
				if out[k].drift != nil {
					d.Got = out[k].drift.Got
				}
				out[k].drift = &d
			}
			continue
		}
		first[out[i].name] = i
	}
	return out
}

// judgeItem judges an item by itself. An item with a name beyond MaxName is malformed, and the
// digest of the name replaces the name. One without a name is called by its place.
func (s *State) judgeItem(kind surface.Kind, raw []byte, place int) item {
	name, quoted := "", rawName(kind, raw)
	if len(quoted) > longestEscape*jsonrpc.MaxName+2 {
		name = digestName(quoted) // without a copy of it
	} else if it, err := surface.NewItem(kind, raw); err != nil {
		name, _ = jsonrpc.Text(quoted)
	} else if name = it.Name; len(name) <= jsonrpc.MaxName {
		return item{name, s.compare(it.Key(), it.Digest)}
	}
	switch {
	case name == "":
		name = fmt.Sprintf("#%d", place+1)
	case len(name) > jsonrpc.MaxName:
		name = digestName([]byte(name))
	}
	return item{name, &Drift{Key: key(kind, name), Reason: Malformed, Want: s.approved[key(kind, name)]}}
}

// longestEscape is the most bytes in which a JSON string may write one: \u0061.
const longestEscape = 6

// digestName replaces a name that is too long to be kept.
func digestName(name []byte) string { return digestMark + digest.FromBytes(name).String() }

const digestMark = "#long-"

// compare judges the digest of the item of key. It returns nil if the item may be shown.
func (s *State) compare(key string, got digest.Digest) *Drift {
	if d, ok := s.varying[key]; ok {
		return &d
	}
	want := s.approved[key]
	if s.judge(key, want, got) == nil {
		return nil
	}
	d := &Drift{Key: key, Reason: Changed, Want: want, Got: got}
	if want.IsZero() {
		d.Reason = New
	}
	return d
}

// rawName is the name of an item, which may be malformed, as it is written, or nil.
func rawName(kind surface.Kind, raw []byte) []byte {
	for _, l := range Methods {
		if l.Kind != kind {
			continue
		}
		var (
			s  jsonrpc.Scanner
			at [1]jsonrpc.Span
		)
		if _, err := s.Object(raw, 0, jsonrpc.Names(l.Naming), at[:]); err == nil && at[0].Present() {
			return at[0].Of(raw)
		}
	}
	return nil
}

// key is surface.Item.Key.
func key(kind surface.Kind, name string) string { return string(kind) + ":" + name }

// SetListing sets what the guard's own listing of kind showed, or why it failed. raw is nil if the
// server has no method to list the kind.
func (s *State) SetListing(kind surface.Kind, raw []json.RawMessage, err error) {
	raw, err = s.keepListing(kind, raw, err)
	if s.exclude[kind] {
		return
	}
	ofKind := func(key string) bool { return strings.HasPrefix(key, string(kind)+":") }
	for k := range s.listed.Entries() {
		if ofKind(k) {
			s.listed.Drop(k)
		}
	}
	delete(s.failed, kind)
	maps.DeleteFunc(s.absent, func(k string, _ bool) bool { return ofKind(k) })
	if err != nil {
		s.failed[kind] = err.Error()
		return
	}
	for k := range s.approved {
		if ofKind(k) {
			s.absent[k] = raw != nil
		}
	}
	for _, it := range s.judgeItems(kind, raw) {
		delete(s.absent, key(kind, it.name))
		if it.drift != nil && it.drift.Reason != Varying && !s.listed.Put(it.drift.Key, *it.drift, 0) {
			s.failed[kind] = "more drifted than can be remembered"
		}
	}
}

// keepListing keeps the items of kind for the report. It returns them, or an error if all kinds
// together are beyond the limit, which they can be because they are listed one after another.
func (s *State) keepListing(kind surface.Kind, raw []json.RawMessage, err error) ([]json.RawMessage, error) {
	s.sizes[kind] = 0
	for _, r := range raw {
		s.sizes[kind] += len(r)
	}
	total := 0
	for _, n := range s.sizes {
		total += n
	}
	if total > MaxSize {
		raw, s.sizes[kind] = nil, 0
		if err == nil {
			err = fmt.Errorf("more than %d bytes with what was listed before", MaxSize)
		}
	}
	switch kind {
	case surface.KindTool:
		s.listing.Tools = raw
	case surface.KindPrompt:
		s.listing.Prompts = raw
	case surface.KindResource:
		s.listing.Resources = raw
	case surface.KindTemplate:
		s.listing.ResourceTemplates = raw
	}
	return raw, err
}

// JudgeInstructions judges those of an initialize or discover result; text is "" if there are
// none. It returns nil if they may be shown.
func (s *State) JudgeInstructions(text string, malformed bool) *Drift {
	const k = string(surface.KindInstructions)
	s.listed.Drop(k)
	s.listing.Instructions = text
	if delete(s.absent, k); text == "" && !malformed && !s.exclude[surface.KindInstructions] &&
		!s.approved[k].IsZero() {
		s.absent[k] = true
	}
	if s.exclude[surface.KindInstructions] || text == "" && !malformed {
		return nil
	}
	d := &Drift{Key: k, Reason: Malformed, Want: s.approved[k]}
	if !malformed {
		if d = s.compare(k, surface.InstructionsItem(text).Digest); d == nil || d.Reason == Varying {
			return d
		}
	}
	s.listed.Put(k, *d, 0) // without room for it there is other drift to refuse calls for
	return d
}

// JudgePage judges the items of an answer to the client and remembers what drifted. It returns
// which items may be shown, what drifted, and whether the guard should list the kind again because
// the answer differs from what it had seen.
func (s *State) JudgePage(kind surface.Kind, raw []json.RawMessage) (keep []bool, drifted []Drift, again bool) {
	keep = make([]bool, len(raw))
	for i, it := range s.judgeItems(kind, raw) {
		if s.exclude[kind] {
			keep[i] = true
			continue
		}
		k := key(kind, it.name)
		before, known := s.listed.Get(k)
		if it.drift == nil {
			if known && before.Reason == Duplicate {
				continue // one of two: which is meant cannot be told
			}
			keep[i] = s.unknownKind(kind) == ""
			s.answered.Drop(k)
			again = again || known || s.absent[k] // shown now
			continue
		}
		drifted = append(drifted, *it.drift)
		if it.drift.Reason == Varying {
			continue
		}
		_, answered := s.answered.Get(k)
		if !known && !answered {
			again = true
		}
		k = it.drift.Key // the same string, so that it is in memory once
		if !s.answered.Put(k, *it.drift, 0) || !s.reported.Put(k, *it.drift, 0) {
			s.overflown[kind] = true
		}
	}
	return keep, drifted, again
}

// Report is what the last listing showed, with all drift that answers to the client ever showed.
func (s *State) Report() Report {
	all := map[string]Drift{}
	for _, m := range []*jsonrpc.Map[Drift]{&s.reported, &s.answered, &s.listed} {
		maps.Copy(all, m.Entries())
	}
	r := Report{Listing: s.listing, Failed: maps.Clone(s.failed), Absent: slices.Sorted(maps.Keys(s.absent))}
	for kind := range s.overflown {
		if r.Failed[kind] == "" {
			r.Failed[kind] = "more drifted than can be remembered"
		}
	}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		r.Drift = append(r.Drift, all[k])
	}
	return r
}
