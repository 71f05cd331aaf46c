package fetch

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// wheelRecord is the RECORD of a wheel: what it says of each file that was not found yet.
type wheelRecord struct {
	path  string // its own
	lines map[string]recordLine
}

// recordLine is a line of RECORD.
type recordLine struct {
	sum  digest.Digest // zero if it has none
	size int64         // bytes; -1 if it has none
}

// readRecord reads the RECORD in the directory info.
func (z *zipFile) readRecord(info string) (*wheelRecord, error) {
	record := &wheelRecord{path: info + "/RECORD", lines: map[string]recordLine{}}
	data, err := z.read(record.path, maxWheelList)
	if err != nil {
		return nil, err
	}
	lines := csv.NewReader(bytes.NewReader(data))
	lines.FieldsPerRecord = 3
	lines.ReuseRecord = true
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			return record, nil
		}
		if err != nil {
			return nil, fmt.Errorf("RECORD: %w", err)
		}
		path := fields[0]
		if _, twice := record.lines[path]; twice {
			return nil, fmt.Errorf("RECORD has %s twice", wire.Quoted(path))
		}
		if record.lines[path], err = parseRecordLine(fields[1], fields[2]); err != nil {
			return nil, fmt.Errorf("RECORD, %s: %w", wire.Quoted(path), err)
		}
	}
}

// parseRecordLine parses what a line of RECORD says of a file.
func parseRecordLine(sum, size string) (line recordLine, err error) {
	line.size = -1
	if size != "" {
		line.size, err = strconv.ParseInt(size, 10, 64)
		if err != nil || strconv.FormatInt(line.size, 10) != size || line.size < 0 {
			return line, fmt.Errorf("%s is no size", wire.Quoted(size))
		}
	}
	if sum != "" {
		name, text, _ := strings.Cut(sum, "=")
		raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
		if err == nil && !strings.ContainsAny(text, "\r\n") {
			line.sum, err = digest.New(digest.Algorithm(name), raw)
		}
		if err != nil || line.sum.IsZero() || line.sum.Weak() {
			return line, fmt.Errorf("%s is no hash of SHA-256 or SHA-512", wire.Quoted(sum))
		}
	}
	return line, nil
}

// readRecorded reads a file of the wheel to its end and compares it with its line, which it takes
// out of record. It returns the content of a file of which up to kept bytes are to be kept.
func (z *zipFile) readRecorded(path string, record *wheelRecord, kept int64) (string, error) {
	line, ok := record.lines[path]
	delete(record.lines, path)
	if path == record.path || path == record.path+".jws" || path == record.path+".p7s" {
		if ok && (!line.sum.IsZero() || line.size >= 0) {
			return "", fmt.Errorf("RECORD has a hash or size of %s, which cannot be in it", wire.Quoted(path))
		}
	} else if !ok || line.sum.IsZero() {
		return "", fmt.Errorf("RECORD has no hash of %s", wire.Quoted(path))
	}
	in, err := z.open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	r := io.Reader(in)
	if !line.sum.IsZero() {
		r = digest.NewVerifier(in, line.sum, line.size)
	}
	var text strings.Builder
	if kept > 0 {
		if n, err := io.Copy(&text, io.LimitReader(r, kept+1)); err == nil && n > kept {
			return "", fmt.Errorf("%s is larger than %s bytes", wire.Quoted(path), evidence.Group(kept))
		}
	}
	_, err = io.Copy(io.Discard, r)
	if _, differs := errors.AsType[*digest.MismatchError](err); differs {
		err = fmt.Errorf("%s: %w (claimed by its RECORD)", wire.Quoted(path), err)
	}
	return text.String(), err
}

// checkAllFound refuses a RECORD that has lines of files that are not there. Lines of directories,
// which scikit-build wrote, say nothing: what is hashed for them is no byte.
func (record *wheelRecord) checkAllFound() error {
	for _, path := range slices.Sorted(maps.Keys(record.lines)) {
		line := record.lines[path]
		if strings.HasSuffix(path, "/") && line.size <= 0 &&
			(line.sum.IsZero() || evidence.Same(line.sum, digest.FromBytes(nil))) {
			continue
		}
		return fmt.Errorf("RECORD has %s, which is not there", wire.Quoted(path))
	}
	return nil
}
