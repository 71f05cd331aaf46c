package jscache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// The body of a file is a list of records. A record is the key, the text of the error, the number of imports,
// and for each import its members in order. Numbers are varints; a text is its length and its bytes; what is
// true or false is a byte.

// importMembers are the members of an import: whoever adds one need not think of this package.
var importMembers = reflect.VisibleFields(reflect.TypeFor[plugin.Import]())

// layout names them, and is part of what the MAC covers.
var layout = func() string {
	var b strings.Builder
	for _, m := range importMembers {
		fmt.Fprintln(&b, m.Name, m.Type.Kind())
	}
	return b.String()
}()

// encode is the body of a file of at most limit bytes, with the records of the first map in order of their
// keys, and then of the others.
func encode(limit int, all ...map[Key]result) []byte {
	var body, record []byte
	for i, records := range all {
		for _, k := range slices.SortedFunc(maps.Keys(records), compareKeys) {
			if i > 0 {
				if _, ok := all[0][k]; ok {
					continue
				}
			}
			record = appendRecord(record[:0], k, records[k])
			if len(record) <= limit/16 && len(body)+len(record) <= limit {
				body = append(body, record...)
			}
		}
	}
	return body
}

func compareKeys(a, b Key) int { return bytes.Compare(a[:], b[:]) }

func appendRecord(to []byte, k Key, r result) []byte {
	text := func(s string) {
		to = binary.AppendUvarint(to, uint64(len(s)))
		to = append(to, s...)
	}
	to = append(to, k[:]...)
	text(r.failure)
	to = binary.AppendUvarint(to, uint64(len(r.imports)))
	for _, imp := range r.imports {
		v := reflect.ValueOf(imp)
		for i := range importMembers {
			switch member := v.Field(i); member.Kind() {
			case reflect.String:
				text(member.String())
			case reflect.Bool:
				to = append(to, 0)
				if member.Bool() {
					to[len(to)-1] = 1
				}
			default:
				to = binary.AppendVarint(to, member.Int())
			}
		}
	}
	return to
}

// decode reads the body of a file whose MAC holds; nil if it is malformed all the same.
func decode(body []byte) map[Key]result {
	r := reader{rest: body}
	out := map[Key]result{}
	for len(r.rest) > 0 && !r.bad {
		var k Key
		copy(k[:], r.bytes(len(k)))
		found := result{failure: r.text()}
		if n := r.number(); n > 0 && !r.bad && n <= uint64(len(r.rest)) {
			found.imports = make([]plugin.Import, 0, n)
			for range n {
				var imp plugin.Import
				r.readImport(reflect.ValueOf(&imp).Elem())
				found.imports = append(found.imports, imp)
			}
		} else if n > 0 {
			r.bad = true
		}
		out[k] = found
	}
	if r.bad {
		return nil
	}
	return out
}

// readImport reads the members of an import.
func (r *reader) readImport(to reflect.Value) {
	for i := range importMembers {
		switch member := to.Field(i); member.Kind() {
		case reflect.String:
			member.SetString(r.text())
		case reflect.Bool:
			b := r.bytes(1)
			member.SetBool(!r.bad && b[0] == 1)
		default:
			n, size := binary.Varint(r.rest)
			if r.bad || size <= 0 {
				r.bad = true
				return
			}
			member.SetInt(n)
			r.rest = r.rest[size:]
		}
	}
}

// reader reads from the front of bytes. Once something is missing it gives zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	return string(r.bytes(int(n)))
}
