package kind

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/project"
)

// TestTable: each kind whose entries a lock can hold has its flows, and no other does.
func TestTable(t *testing.T) {
	for _, name := range project.ServerKinds() {
		if Of(name) == nil {
			t.Errorf("no flow knows servers of kind %q", name)
		}
		if e, ok := Of(name).(ecosystem); ok != name.HasClosure() || ok && e.kind != name {
			t.Errorf("kind %q is installed as a package of %q", name, e.kind)
		}
	}
	for name := range kinds {
		if !name.Known() {
			t.Errorf("no lock can hold a server of kind %q", name)
		}
	}
}

// TestVersionOf: an entry has the version of what it runs, or of the record that its declaration names.
func TestVersionOf(t *testing.T) {
	for _, c := range []struct {
		entry project.ServerLock
		want  Version
	}{
		{project.ServerLock{Source: "npm", Ref: "npm:@acme/notes@1.4.0"}, Version{"@acme/notes", "1.4.0", "npm"}},
		{project.ServerLock{Source: "artifact", Ref: "@acme/notes@1.4.0"}, Version{"@acme/notes", "1.4.0", ""}},
		{project.ServerLock{Source: "npm", Ref: "npm:notes@1.4.0",
			Launch: project.LaunchLock{Server: "io.github.acme/notes@2.0.0"}}, Version{"io.github.acme/notes", "2.0.0", ""}},
		{project.ServerLock{Source: "command", Ref: "file:notes"}, Version{Order: "file"}},
		{project.ServerLock{Source: "other", Ref: "npm:notes@1.4.0"}, Version{}},
	} {
		if got := VersionOf(c.entry); got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.entry.Source, c.entry.Ref, got, c.want)
		}
	}
}
