package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// packed is one file of an archive.
type packed struct {
	name string
	mode os.FileMode
	data []byte
}

// writeArchives writes an archive of each set for each platform, with its bill of materials.
func (r *release) writeArchives() error {
	for _, s := range sets {
		for _, p := range s.platforms {
			files, err := r.archived(s, p)
			if err != nil {
				return err
			}
			data, err := r.compress(p, files)
			if err != nil {
				return err
			}
			if err := r.write(r.archive(s, p), data); err != nil {
				return err
			}
			if err := r.writeBill(s, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// archive is the name of the archive of s for p.
func (r *release) archive(s set, p platform) string {
	suffix := ".tar.gz"
	if p.os == "windows" {
		suffix = ".zip"
	}
	return s.name + "_" + r.version + "_" + p.String() + suffix
}

// archived are the files of the archive of s for p, in one directory: programs at its top, then manual pages,
// completions, and what to read.
func (r *release) archived(s set, p platform) ([]packed, error) {
	files, err := r.files(s, p)
	if err != nil {
		return nil, err
	}
	top := strings.TrimSuffix(strings.TrimSuffix(r.archive(s, p), ".zip"), ".tar.gz")
	var all []packed
	for _, f := range files {
		data, err := os.ReadFile(f.source)
		if err != nil {
			return nil, err
		}
		name := path.Base(f.target)
		switch dir := path.Dir(f.target); {
		case strings.HasSuffix(dir, "/man1"):
			name = "man/man1/" + name
		case strings.Contains(f.source, "completions"):
			name = "completions/" + name
		}
		all = append(all, packed{top + "/" + name, f.mode, data})
	}
	return all, nil
}

// compress makes the archive that is usual on p.
func (r *release) compress(p platform, files []packed) ([]byte, error) {
	if p.os == "windows" {
		return zipFiles(files, r.time)
	}
	return tarFiles(files, r.time)
}

// tarFiles makes a compressed tar archive, which says the same of every machine.
func tarFiles(files []packed, at time.Time) ([]byte, error) {
	plain, err := plainTar(files, at)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// plainTar makes a tar archive. A name with a slash at its end is a directory, which belongs to [nobody]; files are
// root's.
func plainTar(files []packed, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)),
			ModTime: at, Format: tar.FormatPAX,
		}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag, header.Uid, header.Gid = tar.TypeDir, nobody, nobody
		}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// zipFiles makes a zip archive, which says the same of every machine.
func zipFiles(files []packed, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestCompression)
	})
	for _, f := range files {
		header := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		to, err := w.CreateHeader(&header)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
