package closure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// ToolchainParts are the directories of a toolchain that decide what it builds.
var ToolchainParts = []string{"bin", "pkg/include", "pkg/tool", "src"}

// goSettings returns the settings that modules are fetched and built with. The user's own only
// decide how to reach a proxy, for fetching.
func goSettings(dir, mod string) []string {
	return []string{"GOFLAGS=-modcacherw -mod=" + mod, "GOMODCACHE=" + filepath.Join(dir, "modules"),
		"GOPATH=" + filepath.Join(dir, "gopath")}
}

// goProxies returns the proxies that the user configured, without the fallback "direct", by which
// go would ask the host in a module's name and start git. A user who configures no proxy, or
// declares a module private (GOPRIVATE, GONOPROXY), has chosen that fallback.
func goProxies(ctx context.Context, h *host.Host, bin, dir string) ([]string, error) {
	out, err := RunGo(ctx, h, GoCommand{
		Tool: foreign.Go, Path: bin, Dir: dir, Subject: "go", Args: []string{"env", "GOPROXY"},
	})
	if err != nil {
		return nil, err
	}
	all := strings.TrimSpace(string(out))
	kept := strings.TrimRight(strings.TrimSuffix(all, "direct"), ",|")
	if kept == all || kept == "" {
		return nil, nil
	}
	return []string{"GOPROXY=" + kept}, nil
}

// ResolveGo asks go for the modules of the program pkg at version spec, for all platforms. go
// fetches them as the user configured it, and asks the checksum database; no code of the modules
// runs.
func ResolveGo(ctx context.Context, h *host.Host, pkg, spec string, rt *project.Runtime) (*project.Closure, error) {
	work, remove, err := WorkDir(h, "go-")
	if err != nil {
		return nil, err
	}
	defer remove()
	r := &goResolver{
		h: h, work: work, at: filepath.Join(work, "module"), bin: filepath.Join(rt.Path, "bin", "go"),
		pkg: pkg, subject: "go:" + pkg + "@" + spec,
	}
	if err := r.writeModule(); err != nil {
		return nil, err
	}
	if r.proxies, err = goProxies(ctx, h, r.bin, r.at); err != nil {
		return nil, err
	}
	if _, err := r.run(ctx, "get", pkg+"@"+spec); err != nil {
		return nil, err
	}
	out, err := r.run(ctx, "list", "-find", "-f", "{{.Name}} {{.Module.Path}} {{.Module.Version}}", pkg)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(string(out))
	if len(words) != 3 || words[0] != "main" {
		return nil, r.unpinnable(errors.New("is no program of a module"))
	}
	root := module.Version{Path: words[1], Version: words[2]}
	if err := refuseReplacements(filepath.Join(work, "modules"), root); err != nil {
		return nil, r.unpinnable(err)
	}
	if _, err := r.run(ctx, "mod", "tidy"); err != nil {
		return nil, err
	}
	return r.readModule(root)
}

// goResolver is one call of [ResolveGo].
type goResolver struct {
	h    *host.Host
	work string
	// at is the directory of a module that requires the program. It is beside the modules that go unpacks, and not
	// above them: one that is older than modules has no go.mod, so that its packages would be those of this module.
	at, bin      string
	proxies      []string
	pkg, subject string
}

// writeModule writes the module that requires the program. A file that is built on no platform and imports the program
// keeps its requirements in go.mod.
func (r *goResolver) writeModule() error {
	if err := os.Mkdir(r.at, 0o700); err != nil {
		return err
	}
	file := fmt.Sprintf("//go:build never\n\npackage closure\n\nimport _ %q\n", r.pkg)
	for name, text := range map[string]string{"go.mod": "module " + project.ModuleName + "\n\ngo 1.17\n",
		"closure.go": file} {
		if err := os.WriteFile(filepath.Join(r.at, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// run runs go in the module, and returns what it prints.
func (r *goResolver) run(ctx context.Context, args ...string) ([]byte, error) {
	return RunGo(ctx, r.h, GoCommand{
		Tool: foreign.Go, Path: r.bin, Dir: r.at, Subject: r.subject,
		Settings: append(goSettings(r.work, "mod"), r.proxies...), Args: args,
	})
}

// unpinnable is the error of a program that cannot be pinned.
func (r *goResolver) unpinnable(err error) error {
	return evidence.Errorf(evidence.Refused, r.subject, "", fmt.Errorf("it cannot be pinned: %w", err))
}

// readModule returns what go wrote into the module: the program's own, root, and all others with their digests.
func (r *goResolver) readModule(root module.Version) (*project.Closure, error) {
	goMod, err := host.ReadFile(filepath.Join(r.at, "go.mod"), project.MaxClosure)
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, r.unpinnable(err)
	}
	f.DropToolchainStmt() // the one that is there is used, or none
	if goMod, err = f.Format(); err != nil {
		return nil, r.unpinnable(err)
	}
	goSum, err := host.ReadFile(filepath.Join(r.at, "go.sum"), project.MaxClosure)
	if err != nil {
		return nil, err
	}
	ref, err := artifact.NewGo(root.Path, root.Version)
	if err != nil {
		return nil, r.unpinnable(err)
	}
	c, err := project.ParseModules(ref, r.pkg, goMod, goSum)
	if err != nil {
		return nil, r.unpinnable(err)
	}
	return c, nil
}

// refuseReplacements refuses a module that replaces others, as 'go run' does: its author built it
// from other modules.
func refuseReplacements(cache string, m module.Version) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return err
	}
	data, err := host.ReadFile(filepath.Join(cache, "cache", "download", filepath.FromSlash(escaped), "@v",
		version+".mod"), 16<<20)
	if err != nil {
		return err
	}
	if f, err := modfile.Parse("go.mod", data, nil); err == nil && len(f.Replace)+len(f.Exclude) > 0 {
		return errors.New("its go.mod replaces or excludes modules, which go run does not allow")
	}
	return nil
}

// Go builds programs from modules.
type Go struct{}

// PlatformKey returns the key of the toolchain's version.
func (Go) PlatformKey(rt *project.Runtime) string { return platformKey(rt.Version) }

// Fetch lets go fetch the modules of a closure into dir, recomputes the hash of each from its zip,
// and compares it with the closure.
func (Go) Fetch(ctx context.Context, h *host.Host, o Order, dir string) (*Packages, error) {
	c := o.Closure
	t := &Packages{dir: dir, Ref: c.Root, Files: map[artifact.Ref]string{}}
	if err := writeModule(c, dir); err != nil {
		return nil, err
	}
	args := []string{"mod", "download", "-json"}
	for _, p := range c.Packages {
		args = append(args, p.Ref.Name()+"@"+p.Ref.Version())
	}
	bin, at := filepath.Join(o.Runtime.Path, "bin", "go"), filepath.Join(dir, "module")
	proxies, err := goProxies(ctx, h, bin, at)
	if err != nil {
		return nil, err
	}
	out, err := RunGo(ctx, h, GoCommand{
		Tool: foreign.Go, Path: bin, Dir: at, Subject: c.Root.String(),
		Settings: append(goSettings(dir, "readonly"), proxies...), Args: args,
	})
	if err != nil {
		return nil, explainDownload(out, err)
	}
	zips := map[module.Version]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Zip string }
		if err := d.Decode(&m); err == io.EOF {
			break
		} else if err != nil {
			return nil, evidence.Errorf(evidence.Operation, c.Root.String(), "", err)
		}
		zips[module.Version{Path: m.Path, Version: m.Version}] = m.Zip
	}
	for _, p := range c.Packages {
		zip := zips[module.Version{Path: p.Ref.Name(), Version: p.Ref.Version()}]
		claim := evidence.Claim{Subject: p.Ref.String(), Scheme: evidence.Module, Authority: evidence.Lock,
			Want: p.Integrity, Where: o.Where}
		o, err := hashModule(zip)
		if err != nil {
			t.Report = append(t.Report, evidence.CannotVerify(claim, evidence.Unreadable, err.Error()))
			continue
		}
		t.Report = append(t.Report, evidence.Compare(claim, o))
		t.Files[p.Ref] = zip
		if p.Ref == c.Root {
			t.Observed = o
		}
	}
	return t, nil
}

// explainDownload adds the module errors in the output of 'go mod download' to its error.
func explainDownload(out []byte, err error) error {
	var e *evidence.Error
	if !errors.As(err, &e) {
		return err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Error string }
		if d.Decode(&m) != nil {
			return err
		}
		if m.Error != "" {
			e.Detail += OutputDetail("go", []byte(m.Error))
		}
	}
}

// hashModule recomputes the h1 hash of a module from its zip.
func hashModule(zip string) (evidence.Observed, error) {
	info, err := os.Stat(zip)
	if err != nil {
		return evidence.Observed{}, err
	}
	h1, err := dirhash.HashZip(zip, dirhash.Hash1)
	if err != nil {
		return evidence.Observed{}, err
	}
	d, err := project.ParseH1(h1)
	return evidence.Observed{Digests: []digest.Digest{d}, Size: info.Size(), From: "the files of the module's zip"}, err
}

// writeModule writes the module that requires the program, over any earlier files.
func writeModule(c *project.Closure, dir string) error {
	dir = filepath.Join(dir, "module")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), c.GoMod, 0o600),
		os.WriteFile(filepath.Join(dir, "go.sum"), c.GoSum, 0o600))
}

// Install builds the program from the modules of t into st: without a network, without cgo, whose
// compiler cannot be verified, and without paths of this machine, so that the same toolchain builds
// the same bytes everywhere. No code of the modules runs.
func (Go) Install(ctx context.Context, h *host.Host, o Order, t *Packages, st *store.Staging) error {
	c := o.Closure
	if err := writeModule(c, t.dir); err != nil {
		return err
	}
	cache := filepath.Join(h.Places.Cache, "go-build") // ours alone, as what it holds goes into programs
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	settings := slices.Concat(HomeVariables(t.dir), goSettings(t.dir, "readonly"),
		[]string{"GOENV=off", "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off", "CGO_ENABLED=0", "GOCACHE=" + cache})
	_, err := RunGo(ctx, h, GoCommand{
		Tool: foreign.Sealed, Path: filepath.Join(o.Runtime.Path, "bin", "go"), Dir: filepath.Join(t.dir, "module"),
		Subject: c.Root.String(), Settings: settings,
		Args: []string{"build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(st.Dir(), BuiltProgram()),
			c.Program},
	})
	return err
}

// BuiltProgram returns the name of the only file of a slot with a built Go program.
func BuiltProgram() string {
	if runtime.GOOS == "windows" {
		return "server.exe"
	}
	return "server"
}
