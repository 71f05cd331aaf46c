package blobs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/surface"
)

// A dump is records as JSON. Export writes one envelope a line, as GET answers it but with
// all of its findings. Read reads that, and what comes from elsewhere: one
// JSON array, or JSON values one after another, of which each is
//
//	{"server": …, "_meta": …}        an envelope
//	{"servers": [envelope, …], …}    a page of them
//	{"name": …, "version": …, …}     a server.json alone, as in the official seed files
//	{"blob": …, "offset": …, "data": …}  a part of an archive, in base64
//	{"archive": …}                   the record of the archive whose parts came before it

// maxDumped is the size of one value of a dump, in bytes: that of a page.
const maxDumped = client.MaxAnswer

// Export writes all records to w, in the order of the list, and returns how many. A record that
// is published meanwhile may be missing.
func Export(ctx context.Context, records registry.Records, findings registry.Findings, w io.Writer) (int, error) {
	n := 0
	out := bufio.NewWriterSize(w, 1<<20)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for q := (registry.Query{Limit: registry.MaxLimit, Deleted: true}); ; {
		page, next, err := records.List(ctx, q)
		if err != nil {
			return n, fmt.Errorf("list the servers: %w", err)
		}
		for _, rec := range page {
			env := registry.NewEnvelope(rec)
			if len(rec.Findings) == registry.MaxFindings { // there may be more

				if env.Meta.Integrity.Findings, err = findings.Findings(ctx, rec.Name, rec.Version); err != nil {
					return n, fmt.Errorf("read the findings of %+q: %w", rec.Subject(), err)
				}
			}
			if err := enc.Encode(env); err != nil {
				return n, err
			}
			n++
		}
		if next == "" {
			return n, out.Flush()
		}
		q.Cursor = next
	}
}

// Archive is a part of an archive, or its record after the last part.
type Archive struct {
	Archive *registry.ArchiveRecord `json:"archive,omitempty"`
	Blob    digest.Digest           `json:"blob,omitzero"` // of the whole archive
	Offset  int64                   `json:"offset,omitempty"`
	Data    []byte                  `json:"data,omitempty"`
}

// partSize is how many bytes of an archive are in one part.
const partSize = 3 << 20

// ExportArchives writes the records of all archives to w with the archives themselves,
// and returns how many. Blobs are opened if there is an archive: a registry without any
// may have no place for them.
func ExportArchives(
	ctx context.Context, records registry.ArchiveRecords, open func() (registry.Blobs, error), w io.Writer,
) (n int, err error) {
	var blobs registry.Blobs
	out := bufio.NewWriterSize(w, 1<<20)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, kind := range registry.ArchiveKindNames() {
		for q := (registry.Query{Limit: registry.MaxLimit, Deleted: true}); ; {
			page, next, err := records.ListArchives(ctx, kind, q)
			if err != nil {
				return n, fmt.Errorf("list the archives of kind %s: %w", kind, err)
			}
			if len(page) > 0 && blobs == nil {
				if blobs, err = open(); err != nil {
					return n, err
				}
			}
			for _, rec := range page {
				if err := exportBlob(ctx, enc, blobs, rec); err != nil {
					return n, fmt.Errorf("%s %+q: %w", rec.Kind, rec.Subject(), err)
				}
				if len(rec.Findings) == registry.MaxFindings { // there may be more
					if rec.Findings, err = records.ArchiveFindings(ctx, kind, rec.Name, rec.Version); err != nil {
						return n, fmt.Errorf("read the findings of %s %+q: %w", rec.Kind, rec.Subject(), err)
					}
				}
				if err := enc.Encode(Archive{Archive: &rec}); err != nil {
					return n, err
				}
				n++
			}
			if next == "" {
				break
			}
			q.Cursor = next
		}
	}
	return n, out.Flush()
}

func exportBlob(ctx context.Context, enc *json.Encoder, blobs registry.Blobs, rec registry.ArchiveRecord) error {
	body, err := blobs.Open(ctx, rec.ContentHash, 0, -1)
	if err != nil {
		return err
	}
	defer body.Close()
	verified := digest.NewVerifier(body, rec.ContentHash, rec.Size)
	part := make([]byte, partSize)
	for offset := int64(0); ; {
		n, err := io.ReadFull(verified, part)
		if n > 0 {
			if err := enc.Encode(Archive{Blob: rec.ContentHash, Offset: offset, Data: part[:n]}); err != nil {
				return err
			}
			offset += int64(n)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ReadArchive is the record and the evidence of an archive that was
// exported with rec, recomputed from its bytes. A record that is not that of the archive
// is an error.
func ReadArchive(
	ctx context.Context, known []registry.ArchiveKind, rec registry.ArchiveRecord, r *io.SectionReader,
) (registry.ArchiveRecord, evidence.Report, error) {
	i := slices.IndexFunc(known, func(k registry.ArchiveKind) bool { return string(k.Kind) == rec.Kind })
	if i < 0 {
		return rec, nil, fmt.Errorf("%+.20q is no kind of archive", rec.Kind)
	}
	content, err := known[i].Read(ctx, r)
	if err != nil {
		return rec, nil, err
	}
	got := rec
	got.Name, got.Version, got.Size, got.DocumentDigest = content.Name, content.Version, r.Size(), digest.Digest{}
	got.ContentIntegrity, got.ContentHash, got.Assets, got.APISurface = content.ContentIntegrity, content.ContentHash,
		content.Assets, content.APISurface
	got.Manifest = content.Manifest
	document, err := got.Document()
	if err != nil {
		return rec, nil, err
	}
	said, err := rec.Leaf()
	if err != nil {
		return rec, nil, err
	}
	if found, err := got.Leaf(); err != nil {
		return rec, nil, err
	} else if a, err := said.Marshal(); err != nil {
		return rec, nil, err
	} else if b, err := found.Marshal(); err != nil {
		return rec, nil, err
	} else if !bytes.Equal(a, b) || !registry.SameArchive(rec, got) {
		return rec, nil, errors.New("the archive is not the one of the record")
	}
	return got, registry.ReportArchive(got, content, document), nil
}

// Read calls use with each envelope of a dump, and archives with what belongs to
// archives. The envelope of a bare server.json has no Official. Errors name the value,
// counted from 1.
func Read(r io.Reader, use func(registry.Envelope) error, archives func(Archive) error) error {
	return readDump(r, maxDumped, use, archives)
}

// readDump is Read with another limit of one value, in bytes.
func readDump(r io.Reader, most int, use func(registry.Envelope) error, archives func(Archive) error) error {
	in := bufio.NewReader(r)
	array, err := startsArray(in)
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	counted := &allowance{in, most, most}
	dec := json.NewDecoder(counted)
	if array {
		if _, err := dec.Token(); err != nil {
			return fmt.Errorf("dump: %w", err)
		}
	}
	for n := 1; ; n++ {
		counted.left = most
		if array && !dec.More() {
			_, err := dec.Token()
			if err == nil {
				if _, err = dec.Token(); err == io.EOF {
					return nil
				}
				return fmt.Errorf("dump: more follows the array")
			}
			return fmt.Errorf("dump: %w", unexpectedError(err))
		}
		var value json.RawMessage
		switch err := dec.Decode(&value); {
		case err == io.EOF && !array:
			return nil
		case err != nil:
			return fmt.Errorf("dump: value %d: %w", n, unexpectedError(err))
		}
		envelopes, part, err := parseDumped(value)
		if err != nil {
			return fmt.Errorf("dump: value %d: %w", n, err)
		}
		if part != nil {
			if err := archives(*part); err != nil {
				return err
			}
		}
		for _, env := range envelopes {
			if err := use(env); err != nil {
				return err
			}
		}
	}
}

func unexpectedError(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// startsArray looks past white space at what comes first.
func startsArray(in *bufio.Reader) (bool, error) {
	for {
		c, err := in.ReadByte()
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		}
		return c == '[', in.UnreadByte()
	}
}

// parseDumped reads one value of a dump.
func parseDumped(value json.RawMessage) ([]registry.Envelope, *Archive, error) {
	var members map[string]json.RawMessage // a struct would match names in any case
	if err := json.Unmarshal(value, &members); err != nil || members == nil {
		return nil, nil, fmt.Errorf("is not an object")
	}
	switch {
	case members["servers"] != nil:
		var p registry.Page
		err := surface.DecodeKnown(value, &p)
		return p.Servers, nil, err
	case members["server"] != nil:
		var env registry.Envelope
		err := surface.DecodeKnown(value, &env)
		return []registry.Envelope{env}, nil, err
	case members["name"] == nil && (members["archive"] != nil || members["blob"] != nil):
		part := new(Archive)
		err := surface.DecodeKnown(value, part)
		return nil, part, err
	}
	return []registry.Envelope{{Server: value}}, nil, nil
}

// allowance is a reader that gives so many bytes, until it is allowed more. The decoder
// reads ahead, so a value may exceed the limit by the size of its buffer.
type allowance struct {
	r    io.Reader
	most int
	left int
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, fmt.Errorf("is longer than %d bytes", a.most)
	}
	n, err := a.r.Read(p[:min(len(p), a.left)])
	a.left -= n
	return n, err
}
