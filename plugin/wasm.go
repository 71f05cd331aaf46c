package plugin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// wasmMagic begins each module of WebAssembly.
var wasmMagic = []byte("\x00asm")

var errWasm = errors.New("a module of WebAssembly that cannot be read")

// scanWasm finds the modules that a module of WebAssembly imports, each once: where Node loads one by import, these are
// specifiers as those of scripts.
func scanWasm(content []byte) (found []Import, err error) {
	r := wasmReader{rest: content}
	if len(content) < 8 {
		return nil, errWasm
	}
	r.rest = content[8:] // magic and version
	for len(r.rest) > 0 && !r.bad {
		id, body := r.byte(), r.bytes()
		if id != 2 { // the section of imports
			continue
		}
		section := wasmReader{rest: body}
		for n := section.number(); n > 0 && !section.bad; n-- {
			module := string(section.bytes())
			section.bytes() // the name in it
			section.skipType()
			one := Import{Kind: Static, Specifier: module}
			if !section.bad && !slices.Contains(found, one) {
				found = append(found, one)
			}
		}
		r.bad = r.bad || section.bad
	}
	if r.bad {
		return nil, errWasm
	}
	return found, nil
}

// wasmReader reads numbers and texts of a module; bad says that one was not whole.
type wasmReader struct {
	rest []byte
	bad  bool
}

func (r *wasmReader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// number reads an unsigned LEB128.
func (r *wasmReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// bytes reads a vector of bytes.
func (r *wasmReader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return bytes.Clone(b)
}

// skipType passes over what an import is: a function, table, memory, global or tag.
func (r *wasmReader) skipType() {
	limits := func() {
		if r.byte()&1 != 0 { // a maximum
			r.number()
		}
		r.number()
	}
	switch r.byte() {
	case 0:
		r.number()
	case 1:
		r.byte()
		limits()
	case 2:
		limits()
	case 3:
		r.byte()
		r.byte()
	case 4:
		r.byte()
		r.number()
	default:
		r.bad = true
	}
}
