package check

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// comparedServer is what a side has of a server.
type comparedServer struct {
	declared *project.Server     // by hallmark.toml, or a facet
	entry    *project.ServerLock // nil if it is not locked
	fields   map[string]string
}

// there reports whether the side has it at all.
func (s comparedServer) there() bool { return s.declared != nil || s.entry != nil }

// launch is how it is declared, or was when it was locked.
func (s comparedServer) launch() (l project.LaunchLock) {
	switch {
	case s.declared != nil:
		return s.declared.Launch()
	case s.entry != nil:
		return s.entry.Launch
	}
	return l
}

// firstServerFields are the fields of a server that are shown before the others.
var firstServerFields = []string{
	"version", "kind", "artifact", "bytes", "image", "digest", "launch line", "url", "variables",
}

// fieldWords are those for members of an entry whose names would not do; "" leaves a member out, which something else
// says.
var fieldWords = map[string]string{
	"source": "kind", "ref": "artifact", "arguments": "started with", "variables": "gets variables",
	"record.name": "record", "record.version": "",
}

func (s *comparedSide) server(name string) (v comparedServer, err error) {
	if entry, ok := s.Lock.Server(name); ok {
		v.entry = &entry
	}
	if declared, ok := s.LockedServer(name); ok {
		v.declared = &declared
	} else if declared, ok := s.Config.Servers[name]; ok { // of a facet that is not locked
		v.declared = &declared
	}
	v.fields = map[string]string{}
	if !v.there() {
		return v, nil
	}
	if v.entry != nil {
		if err := v.addEntry(); err != nil {
			return v, err
		}
	}
	l := v.launch()
	start := append([]string{l.Command + l.Server + l.Source}, l.Arguments...)
	l.Command, l.Server, l.Source, l.Arguments = "", "", "", nil
	launch, err := flatMembers(l)
	if err != nil {
		return v, err
	}
	maps.Copy(v.fields, launch)
	if v.fields["launch line"] = host.QuoteArguments(start); l.URL != "" {
		delete(v.fields, "launch line")
	}
	if v.declared != nil && v.declared.StartupTimeout != 0 {
		v.fields["startup_timeout"] = v.declared.StartupTimeout.String()
	}
	return v, nil
}

// addEntry adds the fields of the entry, but for how it was declared.
func (v comparedServer) addEntry() error {
	entry, err := flatMembers(*v.entry)
	if err != nil {
		return err
	}
	const trees = "closure.trees."
	own := "artifacts." + v.entry.Ref
	for what, value := range entry {
		word, known := fieldWords[what]
		switch {
		case strings.HasPrefix(what, "launch.") || strings.HasPrefix(what, "surface_items.") || known && word == "":
			continue
		case what == own:
			word = "bytes"
		case strings.HasPrefix(what, trees):
			word = "tree " + what[len(trees):]
		case !known:
			word = what
		}
		v.fields[word] = value
	}
	if ref, err := artifact.Parse(v.entry.Ref); err == nil && ref.Version() != "" {
		v.fields["version"] = ref.Version()
	}
	if v.entry.Record != nil {
		v.fields["version"] = v.entry.Record.Version
	}
	return nil
}

func (c *Changes) compareServers(before, now *comparedSide) error {
	for _, name := range inEither(before, now, func(s *comparedSide) []string { return s.ServerNames() }) {
		old, err := before.server(name)
		if err != nil {
			return err
		}
		new, err := now.server(name)
		if err != nil {
			return err
		}
		s := ServerChange{Name: name, Change: changeKindOf(old.there(), new.there()), Fields: []FieldChange{}}
		if s.Change != WasRemoved {
			s.Fields = fieldChangesOf(old.fields, new.fields, firstServerFields)
			s.addLockedLaunch(old, new)
			if old.there() {
				s.Weaker = old.launch().Weaker(new.launch())
			}
			if err := s.compareStored(before, now, old.entry, new.entry); err != nil {
				return err
			}
		}
		note := new.lockNote(name)
		if s.Change == WasChanged && note == old.lockNote(name) &&
			len(s.Fields)+len(s.Weaker)+len(s.Dependencies)+len(s.Surface)+len(s.Notes) == 0 {
			continue
		}
		if s.Change != WasRemoved {
			s.noteMore(note, old, new)
		}
		c.Servers = append(c.Servers, s)
	}
	return nil
}

// addLockedLaunch adds a field where the lock has another launch line than before, and than what is declared: the other
// fields are about what is declared.
func (s *ServerChange) addLockedLaunch(old, new comparedServer) {
	if old.entry == nil || new.entry == nil || new.declared == nil {
		return
	}
	before, now := old.entry.Launch.Digest(), new.entry.Launch.Digest()
	if !evidence.Same(before, now) && !evidence.Same(now, new.declared.Launch().Digest()) {
		s.Fields = append(s.Fields, FieldChange{"locked launch line", before.String(), now.String()})
	}
}

// lockNote says where the lock and the declaration part, or "".
func (v comparedServer) lockNote(name string) string {
	switch {
	case v.entry == nil && v.declared != nil && v.declared.WhyUnlocked() == "":
		return "is declared and not locked; " + lockWith(name, v.declared)
	case v.entry != nil && v.declared == nil:
		return "is locked, and declared by nothing"
	case v.entry != nil && !evidence.Same(v.declared.Launch().Digest(), v.entry.Launch.Digest()):
		return "was declared otherwise when it was locked; " + lockWith(name, v.declared)
	}
	return ""
}

// noteMore adds what follows from several differences.
func (s *ServerChange) noteMore(note string, old, new comparedServer) {
	if note != "" {
		s.Notes = append(s.Notes, note)
	}
	other := func(f FieldChange) bool {
		return f.What != "surface" && f.What != "api_surface" && f.What != "surface_varying"
	}
	if s.Change == WasChanged && len(s.Surface)*len(s.Fields) > 0 && len(s.Dependencies) == 0 &&
		!slices.ContainsFunc(s.Fields, other) {
		s.Notes = append(s.Notes, "the same bytes show a model something else than before")
	}
	if i := slices.IndexFunc(s.Fields, func(f FieldChange) bool { return f.What == "version" }); i >= 0 {
		kind := artifact.Kind("")
		if ref, err := artifact.Parse(refOf(new.entry)); err == nil {
			kind = ref.Kind()
		}
		if artifact.IsOlder(kind, s.Fields[i].New, s.Fields[i].Old) {
			s.Notes = append(s.Notes, "goes back to an older version")
		}
	}
}

// lockWith says what locks a server.
func lockWith(name string, declared *project.Server) string {
	if declared.Facet != "" {
		return "'hallmark install' locks it"
	}
	return "'hallmark pin " + name + "' locks it"
}

func refOf(entry *project.ServerLock) string {
	if entry == nil {
		return ""
	}
	return entry.Ref
}

// compareStored compares the files beside the lock, and says which are not as the lock has them. Files that are the
// same on both sides are not read further: what was wrong before is no difference.
func (s *ServerChange) compareStored(before, now *comparedSide, old, new *project.ServerLock) error {
	a, err := before.readBeside(s.Name, old)
	if err != nil {
		return err
	}
	b, err := now.readBeside(s.Name, new)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(old, new) && a.same(b) {
		return nil
	}
	seen, closures := [2]*surface.Surface{}, [2]*project.Closure{}
	for i, p := range []*filesBeside{a, b} {
		if p.entry == nil {
			continue
		}
		stored, err := workspace.CompareStored(s.Name, *p.entry, p.read)
		if err != nil {
			return err
		}
		for _, e := range stored.Report {
			e.Subject = strings.TrimSuffix(e.Subject, " (items)") // which the lock has one by one too
			if note := p.where + ": " + fileNote(e); e.Outcome != evidence.Match && !slices.Contains(s.Notes, note) {
				s.Notes = append(s.Notes, note)
			}
		}
		seen[i], closures[i] = stored.Surface, stored.Closure
	}
	if seen[0] == nil && old == nil { // a model was shown nothing
		if seen[0], err = surface.New(surface.Listing{}); err != nil {
			return err
		}
	}
	if seen[0] != nil && seen[1] != nil {
		s.Surface = surface.Diff(seen[0], seen[1])
		s.warn(seen[1])
	}
	if closures[1] != nil && (closures[0] != nil || old == nil || old.Closure == nil) {
		s.Dependencies = dependenciesOf(closures[0], closures[1])
		s.Fields = slices.DeleteFunc(s.Fields, func(f FieldChange) bool { // which the packages say
			return f.What == "closure.lock" && (len(s.Dependencies) > 0 || closures[0] == nil ||
				closures[0].Root != closures[1].Root)
		})
	}
	if old != nil && new != nil && reflect.DeepEqual(old, new) && len(s.Surface)+len(s.Dependencies)+len(s.Notes) == 0 {
		s.Notes = append(s.Notes, "its files beside the lock are written in another way, and say the same")
	}
	return nil
}

// fileNote says how a file beside the lock is not as the lock has it.
func fileNote(e evidence.Evidence) string {
	subject := surface.Escape(e.Subject)
	switch e.Outcome {
	case evidence.Absent:
		return subject + " is missing, and the lock names it"
	case evidence.Mismatch:
		return subject + " is not the one that the lock names"
	}
	return fmt.Sprintf("%s cannot be read: %s", subject, surface.Escape(e.Reason))
}

// warn adds the warnings about items that differ.
func (s *ServerChange) warn(now *surface.Surface) {
	differs := map[string]bool{}
	for _, c := range s.Surface {
		differs[c.Item] = true
	}
	if len(differs) == 0 {
		return
	}
	for _, w := range surface.Warnings(now) {
		if differs[w.Item] || w.Item == "" {
			s.Warnings = append(s.Warnings, w)
		}
	}
}

// filesBeside is what a side has of a server beside the lock.
type filesBeside struct {
	where string
	entry *project.ServerLock
	files map[string][]byte
}

func (s *comparedSide) readBeside(name string, entry *project.ServerLock) (*filesBeside, error) {
	p := &filesBeside{s.where, entry, map[string][]byte{}}
	for at, limit := range map[string]int64{
		project.SurfaceFile(name): workspace.MaxSurface, project.ClosureSubject(name): project.MaxClosure,
	} {
		if entry == nil || at == project.ClosureSubject(name) && entry.Closure == nil {
			continue
		}
		data, err := s.read(at, limit)
		if err != nil {
			return nil, s.explain(err)
		}
		p.files[at] = data
	}
	return p, nil
}

func (p *filesBeside) read(at string, _ int64) ([]byte, error) { return p.files[at], nil }

func (p *filesBeside) same(o *filesBeside) bool {
	return maps.EqualFunc(p.files, o.files, func(a, b []byte) bool {
		return (a == nil) == (b == nil) && bytes.Equal(unixLines(a), unixLines(b))
	})
}
