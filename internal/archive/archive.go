// Package archive reads archives that others made, and writes those that Hallmark
// makes. It does not extract: [Walk] hands each regular file to a function, which can
// only be given paths that are safe below any directory on any platform.
//
// # Formats
//
//	Tar, TarGzip  what tar programs write: ustar, PAX and GNU headers, directories
//	Package       a TarGzip that another ecosystem's installer unpacks: see [CheckInstalledPath]
//	Canonical     the one tar that paths and contents determine (package tree)
//	Facet         a canonical-style tar of exactly build-manifest.json and
//	              archive.tar.gz, which is one gzip member holding a Canonical tar
//	zip           see [OpenZip]
//
// # Refusals
//
// Every refusal is an [*Error] with its own [Problem]; its class is validation, and integrity
// for [ProblemConflict]. In every format these are refused: links and other non-regular files,
// paths that [CheckPath] refuses, the same path twice, paths that only a case-sensitive or
// normalising file system tells apart, a file that is also a directory, broken checksums,
// truncation, data after the end, a second gzip member, and whatever is beyond the [Limits].
// In Tar, TarGzip and Package, which others made, segments that are empty or a dot are dropped
// from paths first, and the same path twice is one file if its bytes and its executable bit are
// equal. In Canonical and in both layers of Facet every byte is determined, so that extended
// headers, prefix fields, other permissions, owners or times, base-256 sizes, another order,
// nonzero padding and a missing or an additional end block are refused as well.
//
// Limits are checked while streaming and memory does not grow with the contents: a
// compressed archive is refused as soon as it has given more than Ratio bytes for each
// byte read so far, not counting the first [RatioFloor] bytes, or more than Unpacked.
package archive

import (
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Format says how an archive is to be read.
type Format string

// The formats of [Walk].
const (
	Tar       Format = "tar"
	TarGzip   Format = "tar.gz"
	Package   Format = "package"
	Canonical Format = "canonical tar"
	Facet     Format = "facet"
)

// Sums is what was computed from the bytes of an archive that was read to its end.
type Sums struct {
	Packed     digest.Digest // of the archive as it came: a facet's content_hash
	PackedSize int64         // bytes
	Tar        digest.Digest // of the tar; of a Facet the inner one: content_integrity
	TarSize    int64         // bytes
}

// Walk reads an archive to its end and calls fn for each regular file in it, in order.
// What fn does not read of a file is read and checked after it returns. An error ends the
// walk. An archive may turn out bad at its last byte: use nothing of what fn did until Walk
// has returned without an error. A refusal is an [*Error]; errors of r and fn are returned
// as they are.
func Walk(r io.Reader, format Format, limits Limits, fn func(Entry, io.Reader) error) (Sums, error) {
	limits = limits.Effective()
	packed := newMeter(r, tooLarge(layerArchive, limits.Packed), limits.Packed)
	var (
		unpacked *meter
		err      error
	)
	switch format {
	case Tar, Canonical:
		limits.Unpacked = min(limits.Unpacked, limits.Packed)
		unpacked = newMeter(packed, tooLarge(layerTar, limits.Unpacked), limits.Unpacked)
		if format == Tar {
			err = walkTar(unpacked, limits, &Names{}, fn)
		} else {
			err = walkCanonical(unpacked, layerTar, limits, fn)
		}
	case TarGzip, Package:
		names := &Names{installed: format == Package}
		unpacked, err = gunzip(packed, layerTar, limits, func(r io.Reader) error {
			return walkTar(r, limits, names, fn)
		})
	case Facet:
		err = walkOuter(packed, fn, func(r io.Reader) error {
			unpacked, err = gunzip(r, layerInner, limits, func(r io.Reader) error {
				return walkCanonical(r, layerInner, limits, fn)
			})
			return err
		})
	default:
		return Sums{}, fmt.Errorf("archive format %+q is not known", string(format))
	}
	if err != nil {
		return Sums{}, err
	}
	return Sums{
		Packed: packed.hash.Digest(digest.SHA256), PackedSize: packed.hash.Size(),
		Tar: unpacked.hash.Digest(digest.SHA256), TarSize: unpacked.hash.Size(),
	}, nil
}
