package hallmark

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
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
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// runsModule reports whether t is go run of one package of a module, without options: what
// they change is in no closure.
func runsModule(t launcher.Target, arguments []string) bool {
	return t.Opaque == "" && t.Wrapper == "" && t.Launcher == "go run" && len(t.Packages) == 1 && t.Packages[0].Ecosystem == launcher.Go &&
		len(arguments) > 1 && arguments[1] == t.Packages[0].Text
}

// goCommand runs the go command in dir, of ours, and gives what it prints. settings come
// after what tool lets through.
func goCommand(ctx context.Context, h *Host, tool foreign.Tool, bin, dir, subject string, settings []string, args ...string) ([]byte, error) {
	out, err := foreign.Run(ctx, foreign.Call{
		Tool: tool, Path: bin, Args: args, Dir: dir, Checkout: h.checkout(), Environ: h.Environ,
		Set: append([]string{"GO111MODULE=on", "GOWORK=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "GOFLAGS=", "GIT_TERMINAL_PROMPT=0"}, settings...),
	})
	if err == nil || ctx.Err() != nil {
		return out.Stdout, context.Cause(ctx)
	}
	kind, said := evidence.Operation, append(slices.Clone(out.Messages), out.Stdout...)
	if bytes.Contains(said, []byte("checksum mismatch")) {
		kind = evidence.Integrity // found by go itself, before the bytes were ours to hash
	}
	return out.Stdout, &evidence.Error{Subject: subject, Kind: kind, Err: fmt.Errorf("go %s: %w", args[0], err), Detail: spoken("go", out.Messages)}
}

// findGo asks the go in path for its version and for the root of its toolchain.
func (w *workspace) findGo(ctx context.Context, path string) (*project.Runtime, error) {
	dir, remove, err := w.host.working("ask-")
	if err != nil {
		return nil, err
	}
	defer remove()
	found, err := w.host.checkout().Find(path, "go")
	if err != nil {
		return nil, unfound(err, "go", "install Go")
	}
	out, err := goCommand(ctx, w.host, foreign.Question, found, dir, found, []string{"PATH=" + path, "GOENV=off"}, "env", "-json", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	var said struct{ GOROOT, GOVERSION string }
	if err := json.Unmarshal(out, &said); err != nil || !filepath.IsAbs(said.GOROOT) || !strings.HasPrefix(said.GOVERSION, "go") {
		return nil, evidence.Errorf(evidence.Operation, found, "", errors.Join(errors.New("is no go"), err))
	}
	return &project.Runtime{Path: said.GOROOT, Version: said.GOVERSION}, nil
}

// toolchainParts are the directories of a toolchain that decide what it builds.
var toolchainParts = []string{"bin", "pkg/include", "pkg/tool", "src"}

// useToolchain hashes the Go toolchain of p, the compiler and the standard library, and
// compares it with the one that was approved. Links inside it, of which Go's own
// distribution has none, are left out.
func (p *program) useToolchain(ctx context.Context, approved *project.Runtime) error {
	root := p.runtime.Path
	fault := func(err error) error {
		return evidence.Errorf(evidence.Operation, root, "run 'hallmark pin' again if Go was moved", err)
	}
	var files []tree.File
	dirs := map[string]string{}
	for _, part := range toolchainParts {
		dir, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(part))) // Debian keeps parts elsewhere
		if err != nil {
			return fault(err)
		}
		found, _, err := tree.Scan(os.DirFS(dir), tree.Limits{})
		if err != nil {
			return fault(err)
		}
		for _, f := range found {
			at := part + "/" + f.Path
			dirs[at] = filepath.Join(dir, filepath.FromSlash(f.Path))
			f.Path = at
			files = append(files, f)
		}
	}
	sum, size, err := tree.V1(ctx, files, func(path string) (io.ReadCloser, error) { return os.Open(dirs[path]) }, 0)
	if err != nil {
		return fault(err)
	}
	rt := *p.runtime
	rt.Digest = sum
	p.runtime = &rt
	claim := evidence.Claim{Subject: root, Scheme: evidence.Tree, Authority: evidence.Machine, Where: "what was approved on this machine"}
	if approved != nil {
		claim.Want = []digest.Digest{approved.Digest}
	}
	p.report = append(p.report, evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{sum}, Size: size, From: "the toolchain " + rt.Version}))
	return nil
}

// goProgram is what builds, on this machine, the program of a server. What was approved is
// not looked at before it is needed: where the program is in the store nothing is built.
func (w *workspace) goProgram(ctx context.Context, name, path string, approved *project.Runtime) (*program, error) {
	p := &program{server: name, path: path, runtime: approved}
	if approved != nil {
		return p, nil
	}
	var err error
	if p.runtime, err = w.findGo(ctx, path); err != nil {
		return p, err
	}
	return p, p.useToolchain(ctx, nil)
}

// goSettings are what modules are fetched and built with: nothing of the user's but how
// to reach a proxy, and that for fetching only.
func goSettings(dir, mod string) []string {
	return []string{"GOFLAGS=-modcacherw -mod=" + mod, "GOMODCACHE=" + filepath.Join(dir, "modules"), "GOPATH=" + filepath.Join(dir, "gopath")}
}

// goProxies is the setting of the proxies that the user configured, without what go would
// try after them: to ask the host that a module names itself, and to start git there. A user
// who names no proxy, or whose module is private (GOPRIVATE, GONOPROXY), has chosen that.
func (h *Host) goProxies(ctx context.Context, bin, dir string) ([]string, error) {
	out, err := goCommand(ctx, h, foreign.Go, bin, dir, "go", nil, "env", "GOPROXY")
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

// resolveGo asks go for the modules of the program pkg at version spec, for all platforms.
// go fetches them as the user configured it, and asks the checksum database; no code of
// theirs runs.
func resolveGo(ctx context.Context, h *Host, pkg, spec string, rt *project.Runtime) (*project.Closure, error) {
	work, remove, err := h.working("go-")
	if err != nil {
		return nil, err
	}
	defer remove()
	subject := "go:" + pkg + "@" + spec
	// A file of all platforms that imports the program keeps what it needs in go.mod.
	file := fmt.Sprintf("//go:build never\n\npackage closure\n\nimport _ %q\n", pkg)
	for name, text := range map[string]string{"go.mod": "module " + project.ModuleName + "\n\ngo 1.17\n", "closure.go": file} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	bin := filepath.Join(rt.Path, "bin", "go")
	proxies, err := h.goProxies(ctx, bin, work)
	if err != nil {
		return nil, err
	}
	run := func(args ...string) ([]byte, error) {
		return goCommand(ctx, h, foreign.Go, bin, work, subject, append(goSettings(work, "mod"), proxies...), args...)
	}
	if _, err := run("get", pkg+"@"+spec); err != nil {
		return nil, err
	}
	out, err := run("list", "-find", "-f", "{{.Name}} {{.Module.Path}} {{.Module.Version}}", pkg)
	if err != nil {
		return nil, err
	}
	unpinnable := func(err error) error {
		return evidence.Errorf(evidence.Refused, subject, "", fmt.Errorf("it cannot be pinned: %w", err))
	}
	words := strings.Fields(string(out))
	if len(words) != 3 || words[0] != "main" {
		return nil, unpinnable(errors.New("is no program of a module"))
	}
	root := module.Version{Path: words[1], Version: words[2]}
	if err := plainModule(filepath.Join(work, "modules"), root); err != nil {
		return nil, unpinnable(err)
	}
	if _, err := run("mod", "tidy"); err != nil {
		return nil, err
	}
	goMod, err := readFile(filepath.Join(work, "go.mod"), project.MaxClosure)
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, unpinnable(err)
	}
	f.DropToolchainStmt() // the one that is there is used, or none
	if goMod, err = f.Format(); err != nil {
		return nil, unpinnable(err)
	}
	goSum, err := readFile(filepath.Join(work, "go.sum"), project.MaxClosure)
	if err != nil {
		return nil, err
	}
	ref, err := artifact.NewGo(root.Path, root.Version)
	if err != nil {
		return nil, unpinnable(err)
	}
	c, err := project.ParseModules(ref, pkg, goMod, goSum)
	if err != nil {
		return nil, unpinnable(err)
	}
	return c, nil
}

// plainModule refuses a module that replaces others: go run refuses it too, as what its
// author built is something else.
func plainModule(cache string, m module.Version) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return err
	}
	data, err := readFile(filepath.Join(cache, "cache", "download", filepath.FromSlash(escaped), "@v", version+".mod"), 16<<20)
	if err != nil {
		return err
	}
	if f, err := modfile.Parse("go.mod", data, nil); err == nil && len(f.Replace)+len(f.Exclude) > 0 {
		return errors.New("its go.mod replaces or excludes modules, which go run does not allow")
	}
	return nil
}

// fetchModules lets go fetch the modules of a closure into dir, and compares the hash of
// each, recomputed from its zip, with the closure.
func fetchModules(ctx context.Context, h *Host, c *project.Closure, rt *project.Runtime, where, dir string) (*packages, error) {
	t := &packages{dir: dir, ref: c.Root, files: map[artifact.Ref]string{}}
	if err := writeModule(c, dir); err != nil {
		return nil, err
	}
	args := []string{"mod", "download", "-json"}
	for _, p := range c.Packages {
		args = append(args, p.Ref.Name()+"@"+p.Ref.Version())
	}
	bin, at := filepath.Join(rt.Path, "bin", "go"), filepath.Join(dir, "module")
	proxies, err := h.goProxies(ctx, bin, at)
	if err != nil {
		return nil, err
	}
	out, err := goCommand(ctx, h, foreign.Go, bin, at, c.Root.String(), append(goSettings(dir, "readonly"), proxies...), args...)
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
		claim := evidence.Claim{Subject: p.Ref.String(), Scheme: evidence.Module, Authority: evidence.Lock, Want: p.Integrity, Where: where}
		o, err := hashModule(zip)
		if err != nil {
			t.report = append(t.report, evidence.CannotVerify(claim, evidence.Unreadable, err.Error()))
			continue
		}
		t.report = append(t.report, evidence.Compare(claim, o))
		t.files[p.Ref] = zip
		if p.Ref == c.Root {
			t.observed = o
		}
	}
	return t, nil
}

// explainDownload adds to the error of go mod download what it prints of each module.
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
			e.Detail += spoken("go", []byte(m.Error))
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

// writeModule writes the module that requires the program, whatever was there before.
func writeModule(c *project.Closure, dir string) error {
	dir = filepath.Join(dir, "module")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), c.GoMod, 0o600), os.WriteFile(filepath.Join(dir, "go.sum"), c.GoSum, 0o600))
}

// buildModules builds the program of the modules of t into st: without a network, without
// cgo, whose compiler is nobody's to verify, and without paths of this machine, so that the
// same toolchain builds the same bytes everywhere. No code of the modules runs.
func buildModules(ctx context.Context, h *Host, c *project.Closure, t *packages, rt *project.Runtime, st *store.Staging) error {
	if err := writeModule(c, t.dir); err != nil {
		return err
	}
	cache := filepath.Join(h.Places.Cache, "go-build") // ours alone, as what it holds goes into programs
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	settings := slices.Concat(own(t.dir), goSettings(t.dir, "readonly"), []string{"GOENV=off", "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off", "CGO_ENABLED=0", "GOCACHE=" + cache})
	_, err := goCommand(ctx, h, foreign.Sealed, filepath.Join(rt.Path, "bin", "go"), filepath.Join(t.dir, "module"), c.Root.String(), settings,
		"build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(st.Dir(), builtProgram()), c.Program)
	return err
}

// builtProgram is the only file of a slot with a program of Go.
func builtProgram() string {
	if runtime.GOOS == "windows" {
		return "server.exe"
	}
	return "server"
}

// onProgram makes p run the program that was built into a slot.
func (p *program) onProgram(slot *store.Slot, entry string, args, variables []string) error {
	var err error
	file := filepath.Join(slot.Dir(), builtProgram())
	if p.exe, err = guard.OpenImage(file); err != nil {
		return evidence.Errorf(evidence.Operation, p.server, "", err)
	}
	// The tree has one file, and what is run must be the one that the audit read.
	p.judged(evidence.Claim{
		Subject: file, Scheme: evidence.File, Authority: evidence.Lock, Want: []digest.Digest{slot.Assets[builtProgram()]}, Where: "the audit of " + slot.Digest.String(),
	}, p.exe.Observed())
	p.args = append([]string{cmp.Or(path.Base(entry), p.server)}, args...)
	p.onTree(slot, project.EngineGo, variables)
	return nil
}
