package archive

import (
	"bytes"
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/tree"
)

// Members of a .facet, in this order.
const (
	BuildManifest = "build-manifest.json"
	FacetTarGzip  = "archive.tar.gz"
)

// FacetHead is how many bytes of a file [IsFacet] needs.
const FacetHead = tree.TarBlock

// IsFacet reports whether a file that begins with head, of [FacetHead] bytes, begins as every .facet
// does: with the header of a tar for the member build-manifest.json. A shorter head is of none.
func IsFacet(head []byte) bool {
	want, err := tree.TarHeader(BuildManifest, 0)
	if err != nil || len(head) < FacetHead {
		return false
	}
	const name, magic, version = 100, 257, 265 // ends of the name, and of where the magic and its version lie
	return bytes.Equal(head[:name], want[:name]) && bytes.Equal(head[magic:version], want[magic:version])
}

// walkOuter reads the outer layer of a .facet to its end. It calls fn with the build manifest,
// and inner with the compressed tar, which inner must read to its end.
func walkOuter(r io.Reader, fn func(Entry, io.Reader) error, inner func(io.Reader) error) error {
	t := newCanonicalTar(r, layerOuter)
	for _, want := range []string{BuildManifest, FacetTarGzip} {
		e, err := t.next()
		if err == io.EOF {
			return &Error{Problem: ProblemNotFacet, Layer: layerOuter, Detail: want + " is missing"}
		}
		if err != nil {
			return err
		}
		if err := CheckPath(e.Path); err != nil {
			return withLayer(layerOuter, err)
		}
		if e.Path != want {
			return &Error{Problem: ProblemNotFacet, Layer: layerOuter, Path: e.Path,
				Detail: "found where " + want + " belongs"}
		}
		e.Outer = true
		do := fn
		if want == FacetTarGzip {
			do = func(_ Entry, r io.Reader) error { return inner(r) }
		}
		if err := t.readContent(e, do); err != nil {
			return err
		}
	}
	e, err := t.next()
	if err == nil {
		var names Names
		names.Add(BuildManifest)
		names.Add(FacetTarGzip)
		if err := names.Add(e.Path); err != nil {
			return withLayer(layerOuter, err)
		}
		return &Error{Problem: ProblemNotFacet, Layer: layerOuter, Path: e.Path, Detail: "a third member"}
	}
	return dropEOF(err)
}

// WriteFacet writes the outer layer of a .facet: the build manifest and size bytes of
// a compressed canonical tar.
func WriteFacet(w io.Writer, buildManifest []byte, tarGzip io.Reader, size int64) error {
	head, err := tree.TarHeader(BuildManifest, int64(len(buildManifest)))
	if err != nil {
		return err
	}
	head = append(head, buildManifest...)
	head = append(head, make([]byte, tree.TarPadding(int64(len(buildManifest))))...)
	second, err := tree.TarHeader(FacetTarGzip, size)
	if err != nil {
		return err
	}
	head = append(head, second...)
	if _, err := w.Write(head); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(tarGzip, size))
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("%s has %d bytes, and had %d", FacetTarGzip, n, size)
	}
	padding := tree.TarPadding(size)
	total := int64(len(head)) + size + padding
	_, err = w.Write(make([]byte, padding+tree.TarEnd(total)))
	return err
}
