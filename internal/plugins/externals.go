package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// LeftOut is an optional external package that was not installed.
type LeftOut struct {
	Name   string `json:"name"` // as a Ref
	Reason string `json:"reason"`
}

// Externals are the external packages of a plugin, installed in a directory of their own until the
// plugin is placed.
type Externals struct {
	// Refs of all that were installed, what they depend on with them
	Packages []string  `json:"packages"`
	LeftOut  []LeftOut `json:"left_out,omitempty"`        // optional ones that cannot be had
	Scripts  []string  `json:"scripts_not_run,omitempty"` // Refs of packages with install scripts

	staging *store.Staging // holds node_modules; nil if nothing was installed
	files   []tree.File    // in it, with paths in the plugin
}

// discard removes what was not placed.
func (x *Externals) discard() {
	if x != nil && x.staging != nil {
		x.staging.Discard() // what stays, the next staging removes
	}
}

// open opens one of the files.
func (x *Externals) open(path string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(x.staging.Dir(), filepath.FromSlash(path)))
}

// externalsOrder sorts the external packages of a manifest.
type externalsOrder struct {
	required, optional map[string]string // versions by name
	claims             map[artifact.Ref][]evidence.Claim
	refs               map[string]artifact.Ref // by name
	left               []LeftOut
}

// orderExternals says which packages of a manifest are installed, and what it claims of them. One from
// elsewhere than the user's npm registry is refused, or left out if it is optional.
func orderExternals(h *host.Host, m *plugin.Manifest) (externalsOrder, error) {
	o := externalsOrder{required: map[string]string{}, optional: map[string]string{},
		claims: map[artifact.Ref][]evidence.Claim{}, refs: map[string]artifact.Ref{}}
	for _, e := range m.Externals {
		refused, err := foreignExternal(h, e)
		if err != nil {
			return o, err
		}
		if refused != "" {
			if e.Optional {
				o.left = append(o.left, LeftOut{e.Subject(), refused})
				continue
			}
			return o, evidence.Errorf(evidence.Refused, e.Subject(),
				"bundle it into dist/, or ask the plugin's author for one that declares it from the npm registry",
				errors.New(refused))
		}
		ref, err := artifact.NewNPM(e.Name, e.Version)
		if err != nil {
			return o, evidence.Errorf(evidence.Validation, e.Subject(), "", err)
		}
		for _, text := range e.Claimed() {
			want, err := digest.ParseSRI(text)
			if err != nil {
				return o, evidence.Errorf(evidence.Validation, e.Subject(), "", err)
			}
			o.claims[ref] = append(o.claims[ref], evidence.Claim{Subject: ref.String(), Scheme: evidence.File,
				Authority: evidence.Publisher, Want: want, Where: plugin.ManifestFile + ", externalDependencies"})
		}
		o.refs[e.Name] = ref
		if e.Optional {
			o.optional[e.Name] = e.Version
		} else {
			o.required[e.Name] = e.Version
		}
	}
	return o, nil
}

// foreignExternal says why a package is not installed because of where it comes from; "" if it is.
func foreignExternal(h *host.Host, e plugin.External) (why string, err error) {
	if !e.FromNPM() {
		return fmt.Sprintf("external packages of source %q are not installed", e.Source), nil
	}
	if e.Registry == "" {
		return "", nil
	}
	own, err := h.Fetch.NPMRegistry(e.Name)
	if err != nil {
		return "", evidence.Errorf(evidence.Operation, e.Subject(), "", err)
	}
	if strings.TrimRight(e.Registry, "/") == strings.TrimRight(own, "/") {
		return "", nil
	}
	return fmt.Sprintf("the registry that the manifest names, %+q, is not asked: packages come from the one that "+
		"your npm configuration gives", e.Registry), nil
}

// installExternals resolves the external packages of a manifest at their exact versions, with all that
// they depend on, compares each file with its registry's integrity and the manifest's, and unpacks
// them without running any script. Flags are the host's.
func installExternals(ctx context.Context, h *host.Host, m *plugin.Manifest, flags plugin.Flags) (_ *Externals,
	err error) {
	order, err := orderExternals(h, m)
	if err != nil {
		return nil, err
	}
	x := &Externals{Packages: []string{}, LeftOut: order.left}
	defer func() {
		if err != nil {
			x.discard()
		}
	}()
	if len(order.refs) == 0 {
		return x, nil
	}
	resolved := h.Announce("asking npm what the external packages of %s need", m.Subject())
	c, err := closure.ResolvePackages(ctx, h, m.Subject()+": external packages", order.required, order.optional)
	resolved()
	if err != nil {
		return nil, err
	}
	there, elsewhere, err := x.sortPackages(c)
	if err != nil {
		return nil, err
	}
	if err := x.noteLeftOut(ctx, h, m, order, there, elsewhere); err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return x, nil
	}
	if err := x.unpack(ctx, h, m, closure.Order{Closure: c, Where: "npm's resolution",
		Claims: order.claims}); err != nil {
		return nil, err
	}
	native := policy.Judge(policy.Plugin, policy.Settings{}, nativeEvidence(m, x.files, flags))
	return x, native.Err()
}

// sortPackages returns the packages of a closure that are installed on this platform, and those for others. It names
// the former, and those of them with scripts.
func (x *Externals) sortPackages(c *project.Closure) (there, elsewhere map[artifact.Ref]bool, err error) {
	installed, err := closure.Installed(c, "")
	if err != nil {
		return nil, nil, err
	}
	there, elsewhere = map[artifact.Ref]bool{}, map[artifact.Ref]bool{}
	for _, p := range installed {
		if p.Ref.IsZero() {
			continue
		}
		if there[p.Ref] = true; p.Scripts {
			x.Scripts = append(x.Scripts, p.Ref.String())
		}
	}
	for _, p := range c.Packages {
		elsewhere[p.Ref] = !there[p.Ref]
	}
	for ref := range there {
		x.Packages = append(x.Packages, ref.String())
	}
	slices.Sort(x.Packages)
	slices.Sort(x.Scripts)
	x.Scripts = slices.Compact(x.Scripts)
	return there, elsewhere, nil
}

// noteLeftOut finds out why optional packages are not among those that are installed: there has those
// that are, elsewhere those for other platforms. That a registry cannot be asked is no reason to leave one out,
// and one that the plugin needs is never left out.
func (x *Externals) noteLeftOut(ctx context.Context, h *host.Host, m *plugin.Manifest, order externalsOrder,
	there, elsewhere map[artifact.Ref]bool) error {
	for _, e := range m.Externals {
		ref, ordered := order.refs[e.Name]
		if !ordered || there[ref] {
			continue
		}
		if !e.Optional {
			return evidence.Errorf(evidence.Refused, ref.String(), "ask the plugin's author for one that does "+
				"without it",
				errors.New("npm does not install it on this platform, and the plugin needs it"))
		}
		left := func(why string) { x.LeftOut = append(x.LeftOut, LeftOut{ref.String(), why}) }
		if elsewhere[ref] {
			left("it is not for this platform")
			continue
		}
		_, err := h.Fetch.NPM(ctx, ref)
		var outside *wire.Error
		switch {
		case errors.As(err, &outside) && outside.Cause == evidence.NotFound:
			left("the registry does not have it")
		case err != nil:
			return fetchError(ref.String(), err)
		default:
			left("npm cannot have all that it depends on")
		}
	}
	return nil
}

// unpack fetches the packages of a closure, compares them, and unpacks them.
func (x *Externals) unpack(ctx context.Context, h *host.Host, m *plugin.Manifest, order closure.Order) error {
	st, err := h.Store()
	if err != nil {
		return err
	}
	work, err := st.Stage()
	if err != nil {
		return err
	}
	defer work.Discard()
	t, err := closure.NPM{}.Fetch(ctx, h, order, work.Dir())
	if err != nil {
		return err
	}
	for _, piece := range t.Report {
		if piece.Outcome == evidence.Mismatch {
			return &evidence.Error{Kind: evidence.Integrity, Err: errors.New(piece.Title()), Detail: piece.Detail()}
		}
	}
	if err := policy.Judge(policy.Plugin, policy.Settings{}, t.Report).Err(); err != nil {
		return err
	}
	if x.staging, err = st.Stage(); err != nil {
		return err
	}
	installed := h.Announce("installing the external packages of %s: %s", m.Subject(),
		evidence.Count(len(t.Files), "package"))
	err = closure.NPM{}.Install(ctx, h, order, t, x.staging)
	installed()
	if err != nil {
		return err
	}
	return x.finishStaging(m, order.Closure)
}

// finishStaging writes the lock of the packages beside them, and lists all files that were unpacked.
func (x *Externals) finishStaging(m *plugin.Manifest, c *project.Closure) error {
	lock, err := c.Encode()
	if err != nil {
		return err
	}
	if len(lock) > plugin.MaxManifest {
		return evidence.Errorf(evidence.Refused, m.Subject(), "bundle what it needs into dist/",
			fmt.Errorf("the lock of its external packages has %d bytes; the limit is %d",
				len(lock), plugin.MaxManifest))
	}
	path := filepath.Join(x.staging.Dir(), filepath.FromSlash(modulesLockFile))
	if err := os.WriteFile(path, lock, 0o644); err != nil {
		return err
	}
	inventory, err := tree.Inspect(os.DirFS(x.staging.Dir()), tree.Limits{})
	if err != nil {
		return evidence.Errorf(evidence.Refused, m.Subject()+": "+modulesDir, "", err)
	}
	if len(inventory.Refused) > 0 {
		return evidence.Errorf(evidence.Refused, m.Subject()+": "+modulesDir, "bundle what it needs into dist/",
			inventory.Refused[0])
	}
	x.files = inventory.Files
	return nil
}

// placeIn moves the packages into the directory of a plugin that is being written.
func (x *Externals) placeIn(dir string) error {
	if x == nil || x.staging == nil {
		return nil
	}
	from, to := filepath.Join(x.staging.Dir(), "node_modules"), filepath.Join(dir, "node_modules")
	if os.Rename(from, to) == nil {
		return nil
	}
	return os.CopyFS(to, os.DirFS(from)) // another file system; the caller hashes the result
}

// fetchError adds the subject to the error of a fetch, of class Operation as nothing was decided.
func fetchError(subject string, err error) error {
	if refusal := wire.NotAgreed(err); refusal != nil {
		return refusal
	}
	if outside, ok := errors.AsType[*wire.Error](err); ok {
		return evidence.Errorf(evidence.Operation, "", outside.Hint, err)
	}
	return evidence.Errorf(evidence.Operation, subject, "", err)
}
