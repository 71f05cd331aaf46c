package fetch

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// NuGetReadme reads the readme that the .nuspec of the .nupkg in the file name names, at most
// limit bytes of it; "" if it names none. The .nuspec must be that of the package id.
func NuGetReadme(name, id string, limit int64) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", errors.Unwrap(err) // without the path, which names a temporary file
	}
	defer f.Close()
	z, err := openZip(f, maxZipList)
	if err != nil {
		return "", err
	}
	nuspec, err := z.readNuspec(limit)
	if err != nil {
		return "", err
	}
	if nuspec == nil {
		return "", errors.New("it has no .nuspec")
	}
	if !strings.EqualFold(nuspec.ID, id) {
		return "", fmt.Errorf("its .nuspec is of %s", wire.Quoted(nuspec.ID))
	}
	if nuspec.Readme == "" {
		return "", nil
	}
	want := strings.TrimPrefix(path.Clean(strings.ReplaceAll(nuspec.Readme, `\`, "/")), "/")
	data, err := z.readOnly(limit, func(name string) bool { return strings.EqualFold(path.Clean(name), want) })
	return string(data), err
}

// nuspec is what is read of a .nuspec.
type nuspec struct {
	ID      string `xml:"metadata>id"`
	Version string `xml:"metadata>version"`
	Readme  string `xml:"metadata>readme"`
}

// readNuspec reads the .nuspec of a .nupkg, of at most limit bytes; nil if there is none.
func (z *zipFile) readNuspec(limit int64) (*nuspec, error) {
	data, err := z.readOnly(limit, func(name string) bool {
		return !strings.Contains(name, "/") && strings.EqualFold(path.Ext(name), ".nuspec")
	})
	if data == nil || err != nil {
		return nil, err
	}
	n := new(nuspec)
	if xml.Unmarshal(data, n) != nil {
		return nil, errors.New("it has no .nuspec that can be parsed")
	}
	return n, nil
}

// readOnly reads the one file whose path matches, at most limit bytes; nil if none does. Two
// that match are refused, because programs differ in which of them they read.
func (z *zipFile) readOnly(limit int64, matches func(path string) bool) ([]byte, error) {
	found := slices.DeleteFunc(slices.Clone(z.paths), func(path string) bool { return !matches(path) })
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return z.read(found[0], limit)
	}
	return nil, fmt.Errorf("it has both %s and %s", wire.Quoted(found[0]), wire.Quoted(found[1]))
}
