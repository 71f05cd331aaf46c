package archive

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"strings"
)

// walkTar reads a tar of any program to its end. Directories are checked as files are,
// but not handed on; global PAX headers, which change no path, are passed over.
func walkTar(r io.Reader, limits Limits, fn func(Entry, io.Reader) error) error {
	var names Names
	in := bufio.NewReaderSize(r, bufferSize)
	t := tar.NewReader(in)
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return tarError("", err)
		}
		refuse := func(p Problem, detail string) error {
			return &Error{Problem: p, Layer: layerTar, Path: h.Name, Detail: detail}
		}
		path := strings.TrimPrefix(h.Name, "./")
		switch h.Typeflag {
		case tar.TypeReg:
			for key := range h.PAXRecords {
				if strings.HasPrefix(key, "GNU.sparse.") {
					return refuse(ProblemExtended, "a sparse file")
				}
			}
			err = names.Add(path)
		case tar.TypeDir:
			if path = strings.TrimSuffix(path, "/"); path != "" && path != "." {
				err = names.addDir(path)
			} else {
				names.entries++
			}
		case tar.TypeXGlobalHeader:
			names.entries++
		case tar.TypeLink, tar.TypeSymlink:
			return refuse(ProblemLink, "a link; only regular files may be there")
		case tar.TypeGNUSparse:
			return refuse(ProblemExtended, "a sparse file")
		default:
			return refuse(ProblemSpecial, "neither a regular file nor a directory")
		}
		if err != nil {
			return at(layerTar, err)
		}
		if err := names.within(limits, layerTar); err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		body := &exactly{r: t, left: h.Size, short: refuse(ProblemTruncated, "ends inside this file")}
		if err := fn(Entry{Path: path, Size: h.Size, Exec: h.Mode&0o111 != 0}, body); err != nil {
			return tarError(path, err)
		}
		if err := body.drain(); err != nil {
			return tarError(path, err)
		}
	}
	// Programs pad with zeros as they like.
	buf := make([]byte, bufferSize)
	for {
		n, err := in.Read(buf)
		if !zeros(buf[:n]) {
			return &Error{Problem: ProblemTrailingData, Layer: layerTar, Detail: "data after the end"}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tarError is an error of reading a tar; those of other layers pass through.
func tarError(path string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Problem: ProblemTruncated, Layer: layerTar, Path: path, Detail: "ends early"}
	case errors.Is(err, tar.ErrHeader):
		return &Error{Problem: ProblemHeader, Layer: layerTar, Path: path, Detail: "not a tar, or a header that is broken"}
	case errors.Is(err, tar.ErrFieldTooLong):
		return &Error{Problem: ProblemHeader, Layer: layerTar, Path: path, Detail: "a header that is too long"}
	}
	return err
}
