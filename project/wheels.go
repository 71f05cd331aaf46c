package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/surface"
)

// wheelsWire is the stored form of a closure of Python packages. No address is in it.
type wheelsWire struct {
	Engine   string       `json:"engine"`
	Platform string       `json:"platform,omitempty"` // the only one that it is for; "" for every one
	Root     string       `json:"root"`               // "pypi:name==version"
	Packages []wheelsPack `json:"packages"`
}

type wheelsPack struct {
	Name    string                   `json:"name"`
	Version string                   `json:"version"`
	Marker  string                   `json:"marker,omitempty"` // PEP 508: where it is installed; "" everywhere
	Wheels  map[string]digest.Digest `json:"wheels"`           // by file name
}

// parseWheels reads the stored form.
func parseWheels(data []byte) (*Closure, error) {
	var w wheelsWire
	if err := surface.Decode(data, &w); err != nil {
		return nil, err
	}
	return w.closure()
}

func (w wheelsWire) closure() (*Closure, error) {
	if w.Engine != EngineUV && w.Engine != EnginePip {
		return nil, fmt.Errorf("unknown engine %+q", w.Engine)
	}
	if len(w.Packages) > MaxPackages {
		return nil, fmt.Errorf("%d packages; the limit is %d", len(w.Packages), MaxPackages)
	}
	root, err := artifact.Parse(w.Root)
	if err != nil || root.Kind() != artifact.PyPI || root.Filename() != "" {
		return nil, fmt.Errorf("root %+q is no release of PyPI", w.Root)
	}
	c := &Closure{Engine: w.Engine, Platform: w.Platform, Root: root}
	found := false
	for _, p := range w.Packages {
		ref, err := artifact.NewPyPI(p.Name, p.Version, "")
		if err != nil {
			return nil, err
		}
		if len(p.Wheels) == 0 {
			return nil, fmt.Errorf("%s has no wheel; packages that are built when they are installed cannot be pinned",
				ref)
		}
		out := ClosurePackage{Ref: ref, Marker: p.Marker, Wheels: map[artifact.Ref]digest.Digest{}}
		for _, name := range slices.Sorted(maps.Keys(p.Wheels)) {
			file, err := artifact.NewPyPI(p.Name, p.Version, name)
			if err != nil || !strings.HasSuffix(name, ".whl") {
				return nil, errors.Join(err, fmt.Errorf("%s: %+q is no wheel", ref, name))
			}
			if p.Wheels[name].Algorithm() != digest.SHA256 {
				return nil, fmt.Errorf("%s has no sha256", file)
			}
			out.Wheels[file] = p.Wheels[name]
			out.Integrity = append(out.Integrity, p.Wheels[name])
		}
		found = found || ref.Normal() == root.Normal()
		c.Packages = append(c.Packages, out)
	}
	if !found {
		return nil, fmt.Errorf("%s itself is missing", root)
	}
	return c, nil
}

// encodeWheels writes the stored form.
func (c *Closure) encodeWheels() ([]byte, error) {
	w := wheelsWire{Engine: c.Engine, Platform: c.Platform, Root: c.Root.String()}
	for _, p := range c.Packages {
		wheels := map[string]digest.Digest{}
		for ref, d := range p.Wheels {
			wheels[ref.Filename()] = d
		}
		w.Packages = append(w.Packages, wheelsPack{p.Ref.Name(), p.Ref.Version(), p.Marker, wheels})
	}
	return machine.MarshalIndented(w)
}

// resolvedFile is one file as both resolvers describe it.
type resolvedFile struct {
	Name   string            `toml:"name"`
	URL    string            `toml:"url"`
	Hashes map[string]string `toml:"hashes"`
}

// wheel is the file's name, with its sha256.
func (h resolvedFile) wheel() (string, digest.Digest, error) {
	name := h.Name
	if u, err := url.Parse(h.URL); name == "" && err == nil {
		name = path.Base(u.Path)
	}
	d, err := digest.ParseHex(digest.SHA256, h.Hashes["sha256"])
	if err != nil {
		return name, d, fmt.Errorf("%+q: %w", name, err)
	}
	return name, d, nil
}

// findRoot sorts what a resolver found, and makes the closure of root, the name that was asked for.
func (w wheelsWire) findRoot(root string) (*Closure, error) {
	want, err := artifact.NewPyPI(root, "0", "")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(w.Packages, func(a, b wheelsPack) int {
		return strings.Compare(a.Name+"\x00"+a.Version, b.Name+"\x00"+b.Version)
	})
	for _, p := range w.Packages {
		ref, err := artifact.NewPyPI(p.Name, p.Version, "")
		if err != nil {
			return nil, err
		}
		if ref.Normal().Name() != want.Normal().Name() {
			continue
		}
		if w.Root != "" {
			return nil, &SeveralVersionsError{Name: root, Markers: w.markersOf(want)}
		}
		w.Root = ref.String()
	}
	return w.closure()
}

// SeveralVersionsError says that a resolver found several versions of the package that was asked
// for, each for some platforms or versions of Python.
type SeveralVersionsError struct {
	Name    string
	Markers []string // of each version, in the form of PEP 508
}

func (e *SeveralVersionsError) Error() string {
	return surface.Escape(e.Name) + " has several versions, one for some platforms each"
}

// markersOf returns the markers of all versions of a package.
func (w wheelsWire) markersOf(want artifact.Ref) (markers []string) {
	for _, p := range w.Packages {
		if ref, err := artifact.NewPyPI(p.Name, p.Version, ""); err == nil &&
			ref.Normal().Name() == want.Normal().Name() {
			markers = append(markers, p.Marker)
		}
	}
	return markers
}

// ParsePylock reads the lock file of PEP 751 that uv wrote for the package called root.
func ParsePylock(data []byte, root string) (*Closure, error) {
	if len(data) > MaxClosure {
		return nil, fmt.Errorf("larger than %d bytes", MaxClosure)
	}
	var file struct {
		Version  string `toml:"lock-version"`
		Packages []struct {
			Name    string         `toml:"name"`
			Version string         `toml:"version"`
			Marker  string         `toml:"marker"`
			Wheels  []resolvedFile `toml:"wheels"`
		} `toml:"packages"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, tomltext.Explain(err)
	}
	if file.Version != "1.0" {
		return nil, fmt.Errorf("lock-version is %+q; this build reads 1.0", file.Version)
	}
	w := wheelsWire{Engine: EngineUV}
	for _, p := range file.Packages {
		pack := wheelsPack{p.Name, p.Version, p.Marker, map[string]digest.Digest{}}
		for _, h := range p.Wheels {
			name, d, err := h.wheel()
			if err != nil {
				return nil, err
			}
			pack.Wheels[name] = d
		}
		w.Packages = append(w.Packages, pack)
	}
	return w.findRoot(root)
}

// ParsePipReport reads the installation report that pip wrote for the package called root,
// on platform: one wheel for each package.
func ParsePipReport(data []byte, root, platform string) (*Closure, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxClosure, Depth: 32}); err != nil {
		return nil, err
	}
	var file struct {
		Version string `json:"version"`
		Install []struct {
			Download struct {
				URL     string `json:"url"`
				Archive struct {
					Hashes map[string]string `json:"hashes"`
				} `json:"archive_info"`
			} `json:"download_info"`
			Metadata struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"metadata"`
		} `json:"install"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Version != "1" {
		return nil, fmt.Errorf("pip's report has version %+q; this build reads 1", file.Version)
	}
	w := wheelsWire{Engine: EnginePip, Platform: platform}
	for _, p := range file.Install {
		name, d, err := resolvedFile{URL: p.Download.URL, Hashes: p.Download.Archive.Hashes}.wheel()
		if err != nil {
			return nil, err
		}
		w.Packages = append(w.Packages, wheelsPack{
			Name: p.Metadata.Name, Version: p.Metadata.Version, Wheels: map[string]digest.Digest{name: d},
		})
	}
	return w.findRoot(root)
}
