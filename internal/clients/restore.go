package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Restore returns data with the entry of c as it was before, or nil if c made the file. Clients write their
// files anew, in an order and a layout of their own: where the bytes of c are gone, its values count. What
// has neither was edited, and the error wraps [ErrChanged].
func Restore(data []byte, c Change) ([]byte, error) {
	if c.Added != "" {
		return removeAdded(data, c)
	}
	s, err := findEntry(data, FileAt(c.File), c)
	if err != nil {
		return nil, err
	}
	if c.Whole {
		return restoreWhole(data, c, s)
	}
	l, ok := s.entry.findLaunch()
	if !ok {
		return nil, fmt.Errorf("%+q %w", c.Name, ErrChanged)
	}
	start, end := l.bounds()
	// From low on, what begins before start reaches beyond it: of a URL c.Now begins with the key.
	low := max(0, start-len(c.Now)+1)
	if i := low + bytes.Index(data[low:], []byte(c.Now)); i >= low && i < start {
		return slices.Concat(data[:i], []byte(c.Was), data[i+len(c.Now):]), nil
	}
	if end <= start || string(data[start:end]) != c.Now {
		return restoreValues(data, c, s)
	}
	return slices.Concat(data[:start], []byte(c.Was), data[end:]), nil
}

// removeAdded returns data without what c added, or nil if c made the file. Its error wraps [ErrChanged]
// if what c added was edited since, and [ErrGone] if the entry does not exist any more.
func removeAdded(data []byte, c Change) ([]byte, error) {
	changed := fmt.Errorf("%+q %w", c.Name, ErrChanged)
	switch c.Added {
	case AddedFile, AddedRoot:
		// White space alone may differ: a comment in it is the user's.
		if !bytes.Equal(withoutSpace(data), withoutSpace([]byte(c.Was+c.Now))) {
			return nil, changed
		}
		if c.Added == AddedFile {
			return nil, nil
		}
		return []byte(c.Was), nil
	case AddedHolder:
		if c.Now != "" && bytes.Count(data, []byte(c.Now)) == 1 {
			return cutOut(data, c, bytes.Index(data, []byte(c.Now)))
		}
		return removeEmptyHolder(data, c)
	case AddedEntry:
	default:
		return nil, fmt.Errorf("%+q: unknown change %+q", c.Name, c.Added)
	}
	f := installedFile(c)
	s, err := findEntry(data, f, c)
	if err != nil {
		return nil, err
	}
	if !isWritten(s, f, c) {
		return nil, changed
	}
	// The comma is gone if the entry was the first of several and is the only one now. The white space
	// behind it belongs to another entry if one was written beside it.
	for _, now := range []string{c.Now, strings.TrimSuffix(c.Now, ","), strings.TrimRight(c.Now, " \t\r\n")} {
		for at := 0; now != ""; at++ {
			i := bytes.Index(data[at:], []byte(now))
			if i < 0 {
				break
			}
			if at += i; at <= s.entry.at && s.entry.at < at+len(now) {
				c.Now = now
				return cutOut(data, c, at)
			}
		}
	}
	return cutMember(data, c, f, Member{Key: c.Name, At: s.entry.at, Value: s.entry.value})
}

// cutOut returns data without what c added, which stands at the offset at, and without the comma before
// or behind it if that is then one too many because entries beside it came or went.
func cutOut(data []byte, c Change, at int) ([]byte, error) {
	format := installedFile(c).format
	before, after := data[:at], data[at+len(c.Now):]
	commaAfter := bytes.TrimLeft(after, " \t\r\n")
	commaBefore := bytes.TrimRight(before, " \t\r\n")
	tries := [][2][]byte{{before, after}}
	if bytes.HasSuffix(commaBefore, []byte(",")) && bytes.HasPrefix(commaAfter, []byte("}")) {
		tries = [][2][]byte{{commaBefore[:len(commaBefore)-1], after}} // the comma of an entry that was inserted later
	}
	if bytes.HasPrefix(commaAfter, []byte(",")) {
		tries = append(tries, [2][]byte{before, commaAfter[1:]})
	}
	if bytes.HasSuffix(commaBefore, []byte(",")) {
		tries = append(tries, [2][]byte{commaBefore[:len(commaBefore)-1], after})
	}
	for _, t := range tries {
		out := append([]byte{}, slices.Concat(t[0], t[1])...) // nil would say that the file is gone
		if _, err := format.Parse(out, false); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%+q %w", c.Name, ErrChanged)
}

// installedFile returns the file of c, with the format and the shape that the client reads for which c was
// made. A link may have led to a file of another name.
func installedFile(c Change) File {
	f := FileAt(c.File)
	if s := clientOf(c.Client).install; s != nil && c.Added != "" {
		f.Client, f.format, f.shapes = c.Client, FormatOf(s.files[0]), []string{s.key}
	}
	return f
}
