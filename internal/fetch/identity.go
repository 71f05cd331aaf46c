package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Identify returns the Ref of the package that the file name is, by what it says of itself: an npm tarball, a wheel or
// source archive of Python, a .nupkg, a .crate. It fails for any other file, also for an MCPB bundle, which does not
// say where it will be. Of a manifest at most limit bytes are read.
func Identify(name string, limit int64) (artifact.Ref, error) {
	if data, err := readTarFile(name, "PKG-INFO", limit); err == nil {
		return identifyPython(name, data)
	} else if errors.Is(err, errNotGzip) {
		return identifyZip(name, limit)
	}
	if filepath.Ext(name) == ".crate" {
		data, err := readTarFile(name, "Cargo.toml", limit)
		if err != nil {
			return artifact.Ref{}, err
		}
		manifest, err := parseCargo(data)
		if err != nil {
			return artifact.Ref{}, err
		}
		return artifact.NewCargo(manifest.Package.Name, manifest.Package.Version)
	}
	data, err := ReadNPMManifest(name, limit)
	if err != nil {
		return artifact.Ref{}, err
	}
	members, err := textsOf(data)
	if err != nil {
		return artifact.Ref{}, err
	}
	return artifact.NewNPM(members["name"], members["version"])
}

func identifyZip(name string, limit int64) (artifact.Ref, error) {
	f, err := os.Open(name)
	if err != nil {
		return artifact.Ref{}, errors.Unwrap(err)
	}
	defer f.Close()
	z, err := openZip(f, maxWheelList)
	if err != nil {
		return artifact.Ref{}, err
	}
	nuspec, err := z.readNuspec(limit)
	if err != nil {
		return artifact.Ref{}, err
	}
	if nuspec != nil {
		return artifact.NewNuGet(nuspec.ID, nuspec.Version)
	}
	data, err := z.readOnly(limit, func(path string) bool {
		dir, file, _ := strings.Cut(path, "/")
		return file == "METADATA" && strings.HasSuffix(dir, ".dist-info") || file == "PKG-INFO"
	})
	if err != nil {
		return artifact.Ref{}, err
	}
	if data == nil || slices.Contains(z.paths, bundleManifest) {
		return artifact.Ref{}, errors.New("it has no manifest that names a package")
	}
	return identifyPython(name, data)
}

// identifyPython reads METADATA or PKG-INFO.
func identifyPython(name string, metadata []byte) (artifact.Ref, error) {
	head, file := pythonHead(metadata), filepath.Base(name)
	ref, err := artifact.NewPyPI(head["Name"], head["Version"], file)
	if err != nil || filepath.Ext(file) != ".whl" {
		return ref, err
	}
	parts := strings.Split(file, "-") // NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl, by which installers know it
	if len(parts) < 3 {
		return artifact.Ref{}, errors.New("its name is not that of a wheel, NAME-VERSION-PYTHON-ABI-PLATFORM.whl")
	}
	named, err := artifact.NewPyPI(parts[0], parts[1], file)
	if err != nil || named.Normal() != ref.Normal() {
		return artifact.Ref{}, errors.New("its METADATA says that it is " + ref.Release().String() + ", and its name " +
			"that it is another package or version")
	}
	return ref, nil
}

// ReadSummary returns how the package ref, a tarball of npm or an archive of Python, describes itself in a sentence; ""
// if it does not. The text is the publisher's. It fails as [ReadOwner] does.
func ReadSummary(name string, ref artifact.Ref, limit int64) (string, error) {
	if e, ok := ecosystemOfKind(ref.Kind()).(packageReader); ok {
		return e.summary(name, ref, limit)
	}
	return "", nil
}

// pythonHead returns the members of METADATA or PKG-INFO before the description, the first of each name.
func pythonHead(metadata []byte) map[string]string {
	head := map[string]string{}
	for line := range strings.Lines(string(metadata)) {
		if strings.TrimSpace(line) == "" {
			break // the description follows
		}
		key, value, _ := strings.Cut(line, ":")
		if head[key] == "" {
			head[key] = strings.TrimSpace(value)
		}
	}
	return head
}
