package hallmark

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/project"
)

// The entry of one package is not that of another, however much else of it is the same.
func TestUnlike(t *testing.T) {
	d := digest.FromBytes([]byte("image"))
	npx := project.Server{Command: "npx", Arguments: []string{"-y", "@acme/notes@^1"}}
	uvx := project.Server{Command: "uvx", Arguments: []string{"Acme_Notes[extra]==1.0"}}
	gorun := project.Server{Command: "go", Arguments: []string{"run", "example.com/notes/cmd/notes@v1.0.0"}}
	image := project.Server{Command: "docker", Arguments: []string{"run", "-i", "--rm", "example.com/notes@" + d.String()}}
	for _, c := range []struct {
		name  string
		s     project.Server
		entry project.ServerLock
		same  bool
	}{
		{"npm", npx, project.ServerLock{Source: "npm", Ref: "npm:@acme/notes@1.4.0"}, true},
		{"another package of npm", npx, project.ServerLock{Source: "npm", Ref: "npm:evil@1.4.0"}, false},
		{"an exact version", project.Server{Command: "npx", Arguments: []string{"notes@1.4.0"}}, project.ServerLock{Source: "npm", Ref: "npm:notes@1.4.0"}, true},
		{"another version than the exact one", project.Server{Command: "npx", Arguments: []string{"notes@1.4.0"}}, project.ServerLock{Source: "npm", Ref: "npm:notes@1.3.0"}, false},
		{"npm as a command", npx, project.ServerLock{Source: "command", Ref: "command:npx"}, false},
		{"PyPI", uvx, project.ServerLock{Source: "pypi", Ref: "pypi:acme-notes==1.0/acme_notes-1.0-py3-none-any.whl"}, true},
		{"another package of PyPI", uvx, project.ServerLock{Source: "pypi", Ref: "pypi:acme-note==1.0/acme_note-1.0-py3-none-any.whl"}, false},
		{"Go", gorun, project.ServerLock{Source: "go", Ref: "go:example.com/notes@v1.0.0", Entry: "example.com/notes/cmd/notes"}, true},
		{"another package of Go", gorun, project.ServerLock{Source: "go", Ref: "go:example.com/notes@v1.0.0", Entry: "example.com/notes/cmd/evil"}, false},
		{"an image", image, project.ServerLock{Source: "image", Ref: "oci:example.com/notes@" + d.String(), Digest: d}, true},
		{"another digest", image, project.ServerLock{Source: "image", Digest: digest.FromBytes([]byte("evil"))}, false},
		{"a command", project.Server{Command: "./server"}, project.ServerLock{Source: "command"}, true},
		{"a command as a package", project.Server{Command: "./server"}, project.ServerLock{Source: "npm", Ref: "npm:server@1.0.0"}, false},
		{"a record", project.Server{Record: "io.github.acme/notes@1.0.0"}, project.ServerLock{Source: "npm"}, true},
		{"a record as a command", project.Server{Record: "io.github.acme/notes@1.0.0"}, project.ServerLock{Source: "command"}, false},
	} {
		if why := unlike(c.s, &c.entry); (why == "") != c.same {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}
