package fetch

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// snapshots are commits of git as a mirror packs them: an ecosystem that is written here
// alone, as one more would be in a file of its own.
type snapshots struct {
	defaults
	mirror string
}

func (snapshots) kind() artifact.Kind { return artifact.Git }

func (s snapshots) registries(Config) (public, configured []string) { return []string{s.mirror}, nil }

func (s snapshots) packageHosts(Config, string) []string { return hostsOf(s.mirror) }

func (s snapshots) description(_ context.Context, _ *Client, ref artifact.Ref) (string, error) {
	return "commit " + ref.Version(), nil
}

func (s snapshots) fetch(ctx context.Context, c *Client, ref artifact.Ref, algs []digest.Algorithm) (*Download, error) {
	u, err := joinURL(s.mirror, ref.Version()+".tar.gz")
	if err != nil {
		return nil, &wire.Error{Ref: ref.String(), Cause: evidence.Unsupported, Err: err}
	}
	d, err := c.download(ctx, ref, transfer.Request{URL: u}, algs)
	if err != nil {
		return nil, err
	}
	d.Claims, d.Unverifiable = registryClaim(ref, "the mirror", "sha256:"+sha("packed"))
	return d, nil
}

// TestAnotherEcosystem: a row of the table is all that another ecosystem needs.
func TestAnotherEcosystem(t *testing.T) {
	const commit = "0123456789012345678901234567890123456789"
	const text = "git+https://git.example.com/r#" + commit
	config := testConfig(t)
	config.AnyHost = false
	mirror := newSite(t, map[string]string{"/" + commit + ".tar.gz": "packed"})

	_, err := get(t, newClient(t, config), text)
	wantError(t, err, evidence.Unsupported, "git refs cannot be fetched")

	before := ecosystems
	defer func() { ecosystems = before }()
	ecosystems = append(slices.Clone(before), snapshots{mirror: mirror.base})
	c := newClient(t, config)
	d, err := get(t, c, text)
	if got := outcomes(t, d, err); !slices.Equal(got, []evidence.Outcome{evidence.Match}) {
		t.Errorf("%v", got)
	}
	ref := mustRef(t, text)
	if said, err := c.Description(t.Context(), ref); err != nil || said != "commit "+commit {
		t.Errorf("%q, %v", said, err)
	}
	if refs, err := c.Files(t.Context(), ref); err != nil || len(refs) != 1 || refs[0] != ref {
		t.Errorf("%v, %v", refs, err)
	}
	if hosts := c.Hosts(artifact.Git, "r"); !slices.Equal(hosts, []string{mirror.host()}) || !c.Names(mirror.host()) {
		t.Errorf("%v", hosts)
	}
}

// TestEcosystems: each kind is in the table once.
func TestEcosystems(t *testing.T) {
	seen := map[artifact.Kind]bool{}
	for _, e := range ecosystems {
		if seen[e.kind()] || e.kind() == "" {
			t.Errorf("%q is there twice, or nothing", e.kind())
		}
		seen[e.kind()] = true
	}
}

// TestEcosystemsStandAlone: an ecosystem is named in its own files and in its row of the table,
// and so is the kind of its Refs, so that another one is added with a file and a row.
func TestEcosystemsStandAlone(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	constants := map[artifact.Kind]string{artifact.NPM: "NPM", artifact.PyPI: "PyPI", artifact.GitHub: "GitHub",
		artifact.NuGet: "NuGet", artifact.Cargo: "Cargo", artifact.OCI: "OCI", artifact.HTTPS: "HTTPS"}
	for _, e := range ecosystems {
		name, constant := reflect.TypeOf(e).Name(), constants[e.kind()]
		if constant == "" {
			t.Errorf("%s: what is %s called in package artifact?", name, e.kind())
		}
		rows := 0
		for file, parsed := range files {
			own := strings.HasPrefix(file, strings.TrimSuffix(name, "s"))
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					if id, ok := n.Type.(*ast.Ident); ok && id.Name == name && file == "ecosystem.go" {
						rows++
					} else if ok && id.Name == name {
						t.Errorf("%s makes an ecosystem %s", file, name)
					}
				case *ast.SelectorExpr:
					from, ok := n.X.(*ast.Ident)
					if ok && from.Name == "artifact" && n.Sel.Name == constant && !own {
						t.Errorf("%s has a case for artifact.%s", file, constant)
					}
				case *ast.FuncDecl:
					if n.Recv == nil || own {
						break
					}
					if id, ok := n.Recv.List[0].Type.(*ast.Ident); ok && id.Name == name {
						t.Errorf("%s has a method of %s", file, name)
					}
				}
				return true
			})
		}
		if rows != 1 {
			t.Errorf("%s has %d rows", name, rows)
		}
	}
}
