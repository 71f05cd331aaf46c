package workspace

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestUnbound: an entry is of what its declaration names, and of nothing else that its kind could be.
func TestUnbound(t *testing.T) {
	image := digest.FromBytes([]byte("image"))
	other := digest.FromBytes([]byte("other"))
	for _, c := range []struct {
		declared string // command line, or "server NAME", "source NAME", "http"
		entry    string // source, ref, entry or image
		want     string // part of the answer; "" if they fit
	}{
		{"node server.js", "command file:server.js -", ""},
		{"node server.js", "npm npm:left@1.0.0 node_modules/left/x.js", "of the source"},
		{"npx -y left", "npm npm:left@1.0.0 -", ""},
		{"npx -y left@1.0.0 a", "npm npm:left@1.0.0 -", ""},
		{"npx -y left@^1", "npm npm:left@1.2.0 -", ""},
		{"npx -y @a/left", "npm npm:@a/left@1.2.0 -", ""},
		{"npx -y left", "npm npm:right@1.0.0 -", "it names"},
		{"npx -y left@1.0.0", "npm npm:left@1.0.1 -", "it names"},
		{"npx -y left", "command command:npx -", "of the source"},
		{"npx -y left", "pypi pypi:left==1.0.0/left-1.0.0-py3-none-any.whl a:b", "of the source"},
		{"uvx My_Server==1.0", "pypi pypi:my-server==1.0.0/my_server-1.0.0-py3-none-any.whl a:b", ""},
		{"uvx My_Server", "pypi pypi:my-server==1.0.0/my_server-1.0.0-py3-none-any.whl a:b", ""},
		{"uvx My_Server", "pypi pypi:other==1.0.0/other-1.0.0-py3-none-any.whl a:b", "it names"},
		{"uvx My_Server==1.1", "pypi pypi:my-server==1.0.0/my_server-1.0.0-py3-none-any.whl a:b", "it names"},
		{"go run example.com/m/cmd@v1.2.3", "go go:example.com/m@v1.2.3 example.com/m/cmd", ""},
		{"go run example.com/m/cmd@latest", "go go:example.com/m@v1.2.3 example.com/m/cmd", ""},
		{"go run example.com/m/cmd@latest", "go go:example.com/m@v1.2.3 example.com/m/evil", "it names"},
		{"go run example.com/m/cmd@v1.2.4", "go go:example.com/m@v1.2.3 example.com/m/cmd", "it names"},
		{"docker run -i --rm example.com/a:1", "image oci:example.com/a@" + image.String() + " example.com/a:1", ""},
		{"docker run -i --rm example.com/a:1", "image oci:example.com/b@" + image.String() + " example.com/a:1", "it names"},
		{"docker run -i --rm example.com/a:1", "image oci:example.com/a@" + image.String() + " example.com/a:2", "by the tag"},
		{"docker run -i --rm example.com/a@" + image.String(), "image oci:example.com/a@" + image.String() + " -", ""},
		{"docker run -i --rm example.com/a@" + image.String(), "image oci:example.com/a@" + other.String() + " -", "it names"},
		{"server com.example/a x", "npm npm:left@1.0.0 -", ""},
		{"server com.example/a x", "command command:sh -", "a record"},
		{"source com.example/a@^1", "artifact com.example/a@1.0.0 server.js", ""},
		{"source com.example/a@^1", "npm npm:left@1.0.0 -", "of the source"},
		{"both com.example/a@^1 npx -y left", "artifact com.example/a@1.0.0 server.js", ""},
		{"both com.example/a@^1 npx -y left", "npm npm:left@1.0.0 -", "of the source"},
		{"http", "http https://example.com/mcp -", ""},
		{"http", "npm npm:left@1.0.0 -", "of the source"},
	} {
		words := strings.Fields(c.declared)
		s := project.Server{Name: "notes", Command: words[0], Arguments: words[1:]}
		switch words[0] {
		case "server":
			s.Command, s.Record, s.Arguments = "", words[1], words[2:]
		case "source":
			s.Command, s.Source, s.Arguments = "", words[1], words[2:]
		case "both": // hallmark.toml cannot say it; a lock that was written by hand can
			s.Source, s.Command, s.Arguments = words[1], words[2], words[3:]
		case "http":
			s.Command, s.Type, s.URL = "", "http", "https://example.com/mcp"
		}
		e := strings.Fields(c.entry)
		entry := &project.ServerLock{Source: project.ServerKind(e[0]), Ref: e[1]}
		switch entry.Source {
		case "go":
			entry.Entry = e[2]
		case "image":
			entry.Image = strings.TrimPrefix(e[2], "-")
		}
		if got := whyUnbound(s, entry); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s locked as %s: %q", c.declared, c.entry, got)
		}
	}
}

// TestUnrooted: a closure is that of the package that the entry is of.
func TestUnrooted(t *testing.T) {
	for _, c := range []struct {
		ref, root string
		fits      bool
	}{
		{"npm:left@1.0.0", "npm:left@1.0.0", true}, {"npm:left@1.0.0", "npm:right@1.0.0", false}, {"npm:left@1.0.0", "npm:left@1.0.1", false},
		{"pypi:my-server==1.0/my_server-1.0-py3-none-any.whl", "pypi:My_Server==1.0.0", true}, {"go:example.com/m@v1.0.0", "go:example.com/n@v1.0.0", false},
	} {
		root, err := artifact.Parse(c.root)
		if err != nil {
			t.Fatal(err)
		}
		if got := whyUnrooted(project.ServerLock{Ref: c.ref}, &project.Closure{Root: root}); (got == "") != c.fits {
			t.Errorf("%s of %s: %q", c.root, c.ref, got)
		}
	}
}

// The entry of one package is not that of another, however much else of it is the same.
func TestUnboundKinds(t *testing.T) {
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
		if why := whyUnbound(c.s, &c.entry); (why == "") != c.same {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}
