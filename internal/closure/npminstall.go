package closure

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
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
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// Installed returns the packages of a closure that are installed on this system, for the interpreter node, an absolute
// path; "" stands for any.
func Installed(c *project.Closure, node string) ([]project.ClosurePackage, error) {
	on := project.NodePlatform{OS: runtime.GOOS, CPU: runtime.GOARCH}
	switch on.OS {
	case "windows":
		on.OS = "win32"
	case "linux":
		on.Libc = libcOf(cmp.Or(node, "/bin/sh"))
	}
	switch on.CPU {
	case "amd64":
		on.CPU = "x64"
	case "386":
		on.CPU = "ia32"
	}
	installed, err := c.For(on)
	if err != nil {
		err = evidence.Errorf(evidence.Refused, c.Root.String(),
			"start it on a system that it is for, or choose another server", err)
	}
	return installed, err
}

// installedBy is [Installed] for the interpreter of an order.
func installedBy(o Order) ([]project.ClosurePackage, error) {
	if o.Runtime == nil {
		return Installed(o.Closure, "")
	}
	return Installed(o.Closure, o.Runtime.Path)
}

// npm's names of C libraries.
const (
	glibc = "glibc"
	musl  = "musl"
)

// libcOf returns npm's name of the C library of a program of Linux, by the loader that it names: "" if it names none.
func libcOf(program string) string {
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			loader, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
			switch {
			case err != nil:
				return ""
			case bytes.Contains(loader, []byte("/ld-musl-")):
				return musl
			}
			return glibc
		}
	}
	return ""
}

// NPM installs npm packages. Install scripts that were allowed are run by npm.
type NPM struct{}

// PlatformKey returns the key of node's major version, and of its C library if that is not the usual one.
func (NPM) PlatformKey(rt *project.Runtime) string {
	key := platformKey("node" + rt.Version)
	if runtime.GOOS != "linux" {
		return key
	}
	if libc := libcOf(rt.Path); libc != glibc {
		key += "-" + cmp.Or(libc, "static")
	}
	return key
}

// Fetch fetches every package that this platform needs into dir, and compares each with the
// closure's integrity and with the registry's claims. A package without an integrity from npm gets
// that of its bytes.
func (NPM) Fetch(ctx context.Context, h *host.Host, o Order, dir string) (*Packages, error) {
	c := o.Closure
	t := &Packages{dir: dir, Files: map[artifact.Ref]string{}, Ref: c.Root, sums: map[artifact.Ref]digest.Digest{}}
	if err := os.Mkdir(filepath.Join(dir, "tarballs"), 0o700); err != nil {
		return nil, err
	}
	all, err := npmSubjects(o)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	report, err := document.ObserveAll(ctx, h.Fetch, all, func(i int, d *fetch.Download) error {
		name := filepath.Join("tarballs", fmt.Sprintf("%05d.tgz", i))
		if err := d.MoveTo(filepath.Join(dir, name)); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		t.Files[all[i].Ref] = filepath.ToSlash(name)
		for _, x := range d.Observed.Digests {
			if x.Algorithm() == digest.SHA512 {
				c.SetIntegrity(all[i].Ref, x)
				t.sums[all[i].Ref] = x
			}
		}
		if all[i].Ref == c.Root {
			t.NPM, t.Observed = d.NPM, d.Observed
		}
		return nil
	})
	t.Report = report
	return t, err
}

// npmSubjects returns each of the packages that an order installs, with all claims about it.
func npmSubjects(o Order) (all []*document.Subject, err error) {
	installed, err := installedBy(o)
	if err != nil {
		return nil, err
	}
	for _, p := range installed {
		if p.Ref.IsZero() ||
			slices.ContainsFunc(all, func(s *document.Subject) bool { return s.Ref == p.Ref }) {
			continue
		}
		s := &document.Subject{Ref: p.Ref, Claims: []evidence.Claim{{
			Subject: p.Ref.String(), Scheme: evidence.File, Authority: evidence.Lock,
			Want: p.Integrity, Where: o.Where,
		}}, Algorithms: []digest.Algorithm{digest.SHA512}} // a package lock of npm cannot hold sha256
		s.Claims = append(s.Claims, o.Claims[p.Ref]...)
		all = append(all, s)
	}
	return all, nil
}

// installWidth is how many packages are unpacked at once.
const installWidth = 4

// Install unpacks the tarballs of t into st, where npm puts them, and compares each with its integrity once more.
// Install scripts that were allowed are run by npm, without the user's configuration.
func (NPM) Install(ctx context.Context, h *host.Host, o Order, t *Packages, st *store.Staging) error {
	at, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer at.Close()
	installed, err := installedBy(o)
	if err != nil {
		return err
	}
	own := map[string]bool{}
	for _, p := range installed {
		own[p.Path] = !p.Ref.IsZero()
	}
	group, unpacking := errgroup.WithContext(ctx)
	group.SetLimit(installWidth)
	for _, p := range installed {
		if own[p.Path] {
			group.Go(func() error { return t.unpack(unpacking, p, at, own) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	modules := filepath.Join(t.dir, "node_modules")
	if len(t.Scripts) > 0 {
		if err := runScripts(ctx, h, o, t, installed); err != nil {
			return err
		}
		if err := removeLinks(modules); err != nil {
			return err
		}
	}
	return os.Rename(modules, filepath.Join(st.Dir(), "node_modules"))
}

// unpack unpacks one package at its path below a directory. The packages at the paths of own are not its: what a
// tarball has there, is left out.
func (t *Packages) unpack(ctx context.Context, p project.ClosurePackage, at *os.Root, own map[string]bool) error {
	elsewhere := func(name string) bool {
		for i, c := range name + "/" {
			if c == '/' && own[p.Path+"/"+name[:i]] {
				return true
			}
		}
		return false
	}
	err := at.MkdirAll(p.Path, 0o755)
	if err == nil {
		err = fetch.InstallTarball(ctx, filepath.Join(t.dir, t.Files[p.Ref]), t.sums[p.Ref], at, p.Path, elsewhere)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	hint := ""
	if _, refused := errors.AsType[*archive.Error](err); refused || errors.Is(err, fs.ErrExist) { // it is the tarball's
		hint = "choose another version of it, or of what needs it, and tell its publisher"
	}
	return evidence.Errorf(evidence.ClassOf(err), p.Ref.String(), hint, err)
}

// runScripts lets npm run the install scripts of t, without the user's configuration. They start the executables of
// other packages by links, which npm makes first. npm is given paths: a name is also that of an alias, and of what a
// tarball has of its own below node_modules.
func runScripts(ctx context.Context, h *host.Host, o Order, t *Packages, installed []project.ClosurePackage) error {
	subject := cmp.Or(o.Closure.Root.String(), o.Where)
	all := map[string]string{} // without which npm takes the packages for none of this project
	scripts := []string{"--foreground-scripts"}
	for _, p := range installed {
		if name := strings.TrimPrefix(p.Path, "node_modules/"); !strings.Contains(name, "/node_modules/") {
			all[name] = "*"
		}
		if !p.Ref.IsZero() && slices.Contains(t.Scripts, p.Ref.String()) {
			scripts = append(scripts, "./"+p.Path)
		}
	}
	manifest, err := json.Marshal(map[string]any{"dependencies": all})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"package.json": manifest, "user.npmrc": nil, "global.npmrc": nil} {
		if err := os.WriteFile(filepath.Join(t.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"--ignore-scripts"}, scripts} {
		args = slices.Concat([]string{"rebuild", "--offline", "--userconfig=user.npmrc",
			"--globalconfig=global.npmrc", "--cache=cache", "--no-workspaces", "--no-audit", "--no-fund",
			"--no-update-notifier", "--loglevel=error"}, args)
		if err := runNPM(ctx, h, subject, foreign.Call{Tool: foreign.Sealed, Dir: t.dir,
			Set: append(HomeVariables(t.dir), "NO_UPDATE_NOTIFIER=1"), Args: args}); err != nil {
			return err
		}
	}
	return nil
}

// removeLinks removes the links to executables, because a tree cannot hold links.
func removeLinks(modules string) error {
	return filepath.WalkDir(modules, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == ".bin" && filepath.Base(filepath.Dir(name)) == "node_modules" {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
			return fs.SkipDir
		}
		return err
	})
}
