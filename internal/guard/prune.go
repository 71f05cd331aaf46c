package guard

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// Message prunes the answer at whole in line: to what the shape result has of its result, and the
// shape fault of its error. It returns the bytes of line themselves if nothing is left out, and the
// sorted paths of what was.
func Message(line []byte, whole jsonrpc.Span, result, fault Shape) (out []byte, left []string, err error) {
	var p pruner
	out, err = p.object(line, whole, object(map[string]Shape{
		"jsonrpc": {fits: oneOf(`"2.0"`), instead: always([]byte(`"2.0"`))},
		"id":      opaque, "result": result, "error": fault,
	}), "")
	slices.Sort(p.left)
	return out, slices.Compact(p.left), err
}

// pruner copies what is passed on.
type pruner struct {
	s    jsonrpc.Scanner
	left []string // paths of what is left out
}

var errTwice = errors.New("a member is given twice")

// value is what is passed on of the value at v, which belongs to the member at path: the bytes of b
// themselves if that is all of it, nil if it is nothing.
func (p *pruner) value(b []byte, v jsonrpc.Span, shape Shape, path string) ([]byte, error) {
	raw := v.Of(b)
	switch {
	case shape.fits != nil && shape.fits(raw):
		return raw, nil
	case shape.fits == nil && raw[0] == '{':
		return p.object(b, v, shape, path)
	case shape.fits == nil && isScalar(raw):
		return raw, nil
	}
	var out []byte
	if shape.instead != nil {
		out = shape.instead(raw)
	}
	if out == nil || shape.quiet == nil || !shape.quiet(raw) {
		p.left = append(p.left, path)
	}
	return out, nil
}

// object is value for the object at at.
func (p *pruner) object(b []byte, at jsonrpc.Span, shape Shape, path string) ([]byte, error) {
	i := jsonrpc.SkipSpace(b, at.Lo+1)
	if b[i] == '}' {
		return at.Of(b), nil
	}
	var (
		kept [][]byte
		seen = map[string]bool{}
		same = true
	)
	for {
		start := i
		value, _ := jsonrpc.ScanName(b, i)
		end, err := p.s.Value(b, value)
		if err != nil {
			return nil, err
		}
		nameEnd, _ := jsonrpc.ScanString(b, start)
		name, ok := jsonrpc.Text(b[start:nameEnd])
		inside, known := shape.members[name]
		var out []byte
		if !ok || !known {
			p.left = append(p.left, strings.TrimPrefix(path+".", ".")+"…")
		} else if seen[name] {
			return nil, errTwice
		} else if out, err = p.value(b, jsonrpc.Span{Lo: value, Hi: end}, inside,
			strings.TrimPrefix(path+"."+name, ".")); err != nil {
			return nil, err
		}
		seen[name] = true
		if out != nil && &out[0] == &b[value] && len(out) == end-value {
			kept = append(kept, b[start:end])
		} else {
			if same = false; out != nil {
				kept = append(kept, append(bytes.Clone(b[start:value]), out...))
			}
		}
		if i = jsonrpc.SkipSpace(b, end); b[i] == '}' {
			break
		}
		i = jsonrpc.SkipSpace(b, i+1)
	}
	if same {
		return at.Of(b), nil
	}
	return append(append([]byte{'{'}, bytes.Join(kept, []byte(","))...), '}'), nil
}
