package registry

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// A dump is records as JSON. Export writes one envelope a line, as GET answers it but with
// all of its findings. ReadDump reads that, and what comes from elsewhere: one
// JSON array, or JSON values one after another, of which each is
//
//	{"server": …, "_meta": …}        an envelope
//	{"servers": [envelope, …], …}    a page of them
//	{"name": …, "version": …, …}     a server.json alone, as in the official seed files

// maxDumped is the size of one value of a dump, in bytes: that of a page.
const maxDumped = MaxAnswer

// Export writes all records to w, in the order of the list, and returns how many. A
// record that is published meanwhile is in it or not.
func Export(ctx context.Context, records Records, findings Findings, w io.Writer) (int, error) {
	out := bufio.NewWriterSize(w, 1<<20)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	n := 0
	for q := (Query{Limit: MaxLimit, Deleted: true}); ; {
		page, next, err := records.List(ctx, q)
		if err != nil {
			return n, err
		}
		for _, rec := range page {
			env := envelope(rec)
			if len(rec.Findings) == MaxFindings { // there may be more

				if env.Meta.Integrity.Findings, err = findings.Findings(ctx, rec.Name, rec.Version); err != nil {
					return n, err
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

// ReadDump calls use with each envelope of a dump. The envelope of a bare server.json
// has no Official. Errors name the value, counted from 1.
func ReadDump(r io.Reader, use func(Envelope) error) error { return readDump(r, maxDumped, use) }

// readDump is ReadDump with another limit of one value, in bytes.
func readDump(r io.Reader, most int, use func(Envelope) error) error {
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
			return fmt.Errorf("dump: %w", unexpected(err))
		}
		var value json.RawMessage
		switch err := dec.Decode(&value); {
		case err == io.EOF && !array:
			return nil
		case err != nil:
			return fmt.Errorf("dump: value %d: %w", n, unexpected(err))
		}
		envelopes, err := dumped(value)
		if err != nil {
			return fmt.Errorf("dump: value %d: %w", n, err)
		}
		for _, env := range envelopes {
			if err := use(env); err != nil {
				return err
			}
		}
	}
}

func unexpected(err error) error {
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

// dumped reads one value of a dump.
func dumped(value json.RawMessage) ([]Envelope, error) {
	var members map[string]json.RawMessage // the names exactly, not in any case
	if err := json.Unmarshal(value, &members); err != nil || members == nil {
		return nil, fmt.Errorf("is not an object")
	}
	switch {
	case members["servers"] != nil:
		var p Page
		if err := json.Unmarshal(value, &p); err != nil {
			return nil, err
		}
		return p.Servers, nil
	case members["server"] != nil:
		var env Envelope
		if err := json.Unmarshal(value, &env); err != nil {
			return nil, err
		}
		return []Envelope{env}, nil
	}
	return []Envelope{{Server: value}}, nil
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
