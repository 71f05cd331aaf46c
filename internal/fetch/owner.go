package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Owner is where a package says which MCP server it is for. All text is the publisher's.
type Owner struct {
	Text  string // the server's name, or a text in which it may stand behind "mcp-name: "; "" if there is none
	Named bool   // Text is the name itself
	Where string // the place of the text
}

// packageReader is an ecosystem of which the file of a package names its owner.
type packageReader interface {
	ecosystem
	owner(name string, ref artifact.Ref, limit int64) (Owner, error)
	summary(name string, ref artifact.Ref, limit int64) (string, error) // "" if the file has none
}

// ReadOwner reads that from the file name of the package ref: from package.json of an npm tarball, METADATA of a
// wheel, PKG-INFO of a source archive, the readme of a crate or a .nupkg. It fails if the file cannot be read, or holds
// no such place, or one of more than limit bytes.
func ReadOwner(name string, ref artifact.Ref, limit int64) (Owner, error) {
	if e, ok := ecosystemOfKind(ref.Kind()).(packageReader); ok {
		return e.owner(name, ref, limit)
	}
	return Owner{}, fmt.Errorf("it is read of no %s", ref.Kind())
}

// ReadNPMManifest returns the package.json of an npm tarball, of at most limit bytes.
func ReadNPMManifest(name string, limit int64) ([]byte, error) {
	return ReadNPMFile(name, "package.json", limit)
}

// ReadNPMFile returns a file of the package in an npm tarball, of at most limit bytes.
func ReadNPMFile(name, path string, limit int64) ([]byte, error) {
	return readTarFile(name, path, limit)
}

func readNPMOwner(name string, limit int64) (Owner, error) {
	data, err := ReadNPMManifest(name, limit)
	if err != nil {
		return Owner{}, err
	}
	members, err := textsOf(data)
	return Owner{Text: members["mcpName"], Named: true, Where: "package.json in the tarball, mcpName"}, err
}

// textsOf returns the members of a package.json that are texts, by their exact names.
func textsOf(data []byte) (map[string]string, error) {
	var manifest map[string]any
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\uFEFF")), &manifest); err != nil || manifest == nil {
		return nil, errors.New("its package.json is no JSON object")
	}
	texts := map[string]string{}
	for name, value := range manifest {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	return texts, nil
}

// readPythonOwner reads a wheel, or a source archive that is a tar.gz or a zip.
func readPythonOwner(name string, limit int64) (Owner, error) {
	const source = "PKG-INFO"
	if data, err := readTarFile(name, source, limit); !errors.Is(err, errNotGzip) {
		return Owner{Text: string(data), Where: source + " in the source archive"}, err
	}
	f, err := os.Open(name)
	if err != nil {
		return Owner{}, err
	}
	defer f.Close()
	z, err := openZip(f, maxWheelList)
	if err != nil {
		return Owner{}, err
	}
	for _, of := range []struct{ end, file, where string }{
		{".dist-info", "METADATA", "METADATA in the wheel"}, {"", source, source + " in the source archive"}} {
		data, err := z.readOnly(limit, func(path string) bool {
			dir, file, _ := strings.Cut(path, "/")
			return strings.HasSuffix(dir, of.end) && file == of.file
		})
		if data != nil || err != nil {
			return Owner{Text: string(data), Where: of.where}, err
		}
	}
	return Owner{}, errors.New("it has neither METADATA nor " + source)
}

func readCargoOwner(name string, limit int64) (Owner, error) {
	owner := Owner{Where: "the readme in the .crate"}
	data, err := readTarFile(name, "Cargo.toml", limit)
	if err != nil {
		return Owner{}, err
	}
	manifest, err := parseCargo(data)
	if err != nil {
		return Owner{}, err
	}
	if readme, ok := manifest.Package.Readme.(string); ok {
		data, err = readTarFile(name, readme, limit)
		owner.Text = string(data)
	}
	return owner, err
}

// cargoManifest is a Cargo.toml.
type cargoManifest struct {
	Package struct {
		Name, Version string
		Readme        any // cargo writes false for none
	}
}

func parseCargo(data []byte) (m cargoManifest, err error) {
	if toml.Unmarshal(data, &m) != nil {
		err = errors.New("its Cargo.toml cannot be parsed")
	}
	return m, err
}

// errNotGzip is the error of a file that is no gzip.
var errNotGzip = errors.New("is no gzip")

// maxOwnerUnpacked bounds what a tar is unpacked to for one file of it, in bytes.
const maxOwnerUnpacked = 512 << 20

// readTarFile reads one file of a .tar.gz, of at most limit bytes. Its path is that below the directory at the top,
// which no installer keeps.
func readTarFile(name, path string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var magic [2]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || magic != [2]byte{0x1f, 0x8b} {
		return nil, errNotGzip
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var found []byte
	limits := archive.Limits{Packed: 1 << 40, Unpacked: maxOwnerUnpacked, Entries: maxFiles}
	_, err = archive.Walk(f, archive.Package, limits, func(e archive.Entry, r io.Reader) error {
		if _, below, _ := strings.Cut(e.Path, "/"); below != path {
			return nil
		}
		data, err := io.ReadAll(io.LimitReader(r, limit+1))
		switch {
		case err != nil:
			return err
		case int64(len(data)) > limit:
			return fmt.Errorf("%s is larger than %s bytes", wire.Quoted(path), evidence.Group(limit))
		case found != nil && !bytes.Equal(found, data):
			return fmt.Errorf("it has two files %s", wire.Quoted(path))
		}
		found = append([]byte{}, data...)
		return nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("it has no %s", wire.Quoted(path))
	}
	return found, err
}

var mcpNameRE = spelling.Form(`mcp-name: *([A-Za-z0-9.-]+/[A-Za-z0-9._-]+)`)

// FirstServer returns the first server that a description or readme says a package is for, "" if none.
func FirstServer(text string) string {
	if m := mcpNameRE().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// bundleManifest is at the top of an MCPB bundle.
const bundleManifest = "manifest.json"

// CheckBundle refuses a file that is no MCPB bundle: a zip with a manifest.json at its top.
func CheckBundle(name string) error {
	_, err := readBundle(name, 0)
	return err
}

// ReadBundleVersion returns the version that the manifest of an MCPB bundle states. It is "" if the manifest states
// none, has more than limit bytes, or cannot be read: it only warns authors who uploaded an older bundle, and refuses
// nothing.
func ReadBundleVersion(name string, limit int64) (string, error) {
	data, err := readBundle(name, limit)
	if err != nil || data == nil {
		return "", err
	}
	texts, err := textsOf(data)
	if err != nil {
		return "", nil // what is no manifest states nothing
	}
	return texts["version"], nil
}

// readBundle returns the manifest of an MCPB bundle, nil if it has more than limit bytes or cannot be read.
func readBundle(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	z, err := openZip(f, maxWheelList)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(z.paths, bundleManifest) {
		return nil, errors.New("it is a zip without " + bundleManifest + " at its top")
	}
	data, err := z.read(bundleManifest, limit)
	if err != nil {
		return nil, nil
	}
	return data, nil
}
