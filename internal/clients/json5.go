package clients

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// json5 reads JSON5, and with it JSON and JSON with comments and trailing commas. Clients use all three,
// and the name of a file does not tell which. The libraries for JSON5 return values without their places,
// which an edit needs.
type json5 struct {
	data   []byte
	at     int
	strict bool // refuse what readers of the three read in different ways
}

// readJSON reads a whole file. One without a value is an empty object without bytes, at its end. If strict is set it
// refuses what is neither JSON nor JSON with comments. Some readers go on behind it, so that a text in single quotes,
// or a line end that only some know, hides from one reader what another finds.
func readJSON(data []byte, strict bool) (*Node, error) {
	p := &json5{data: data, strict: strict}
	p.at = len(data) - len(bytes.TrimPrefix(data, []byte(mark)))
	if err := p.skipSpace(); err != nil {
		return nil, err
	}
	if p.at == len(data) {
		return &Node{Kind: Object, Start: p.at, End: p.at}, nil
	}
	n, err := p.readValue(0)
	if err != nil {
		return nil, err
	}
	if err := p.skipSpace(); err != nil {
		return nil, err
	}
	if p.at < len(data) {
		return nil, p.fail("text after the end of the value")
	}
	return n, nil
}

// fail returns an error at the place that p has come to.
func (p *json5) fail(what string) error { return syntaxError(p.data, p.at, what) }

// refuseIf returns an error if odd and strict are set. odd says that what follows is neither JSON nor JSON
// with comments and trailing commas.
func (p *json5) refuseIf(odd bool) error {
	if odd && p.strict {
		return p.fail("is neither JSON nor JSON with comments: its readers differ")
	}
	return nil
}

// peek returns the next byte, or 0 at the end.
func (p *json5) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// skipSpace skips white space and comments.
func (p *json5) skipSpace() error {
	for p.at < len(p.data) {
		rest := p.data[p.at:]
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			line := string(bytes.TrimSuffix(rest[:end], []byte("\r")))
			if err := p.refuseIf(strings.ContainsAny(line, "\r\u2028\u2029")); err != nil {
				return err // some readers end the comment there
			}
			p.at += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return p.fail("a comment without an end")
			}
			p.at += end + 4
		default:
			r, n := utf8.DecodeRune(rest)
			if !unicode.IsSpace(r) && r != '\uFEFF' {
				return nil
			}
			if err := p.refuseIf(!strings.ContainsRune(" \t\r\n", r)); err != nil {
				return err
			}
			p.at += n
		}
	}
	return nil
}

// readValue reads a value that lies in depth lists and objects.
func (p *json5) readValue(depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	start := p.at
	n := &Node{Start: start}
	var err error
	switch c := p.peek(); {
	case c == '{':
		n.Kind = Object
		err = p.readObject(n, depth)
	case c == '[':
		n.Kind = List
		err = p.readList(n, depth)
	case c == '"' || c == '\'':
		n.Kind = Text
		n.Text, err = p.readString()
	default:
		n.Text, err = p.readWord()
		if err == nil {
			err = p.refuseIf(!json.Valid([]byte(n.Text)))
		}
	}
	n.End = p.at
	return n, err
}

// nextElement moves behind the comma that follows a value. done reports that end followed instead.
func (p *json5) nextElement(end byte) (done bool, err error) {
	if err := p.skipSpace(); err != nil {
		return false, err
	}
	switch p.peek() {
	case ',':
		p.at++
		if err := p.skipSpace(); err != nil {
			return false, err
		}
	case end:
	default:
		return false, p.fail("a ',' or '" + string(end) + "' is missing")
	}
	if p.peek() == end {
		p.at++
		return true, nil
	}
	return false, nil
}

// openBracket moves behind an opening bracket. empty reports that end followed at once.
func (p *json5) openBracket(end byte) (empty bool, err error) {
	p.at++
	if err := p.skipSpace(); err != nil {
		return false, err
	}
	if p.peek() == end {
		p.at++
		return true, nil
	}
	return false, nil
}

// readObject reads the members of n, an object.
func (p *json5) readObject(n *Node, depth int) error {
	done, err := p.openBracket('}')
	for !done && err == nil {
		m := Member{At: p.at}
		if c := p.peek(); c == '"' || c == '\'' {
			m.Key, err = p.readString()
		} else {
			m.Key, err = p.readWord()
			if err == nil {
				err = p.refuseIf(true)
			}
		}
		if err == nil && m.Key == "__proto__" {
			err = p.refuseIf(true) // some readers take its members for those of the object
		}
		if err == nil {
			err = p.skipSpace()
		}
		if err == nil && p.peek() != ':' {
			err = p.fail("a ':' is missing")
		}
		if err != nil {
			return err
		}
		p.at++
		if err = p.skipSpace(); err != nil {
			return err
		}
		if m.Value, err = p.readValue(depth + 1); err != nil {
			return err
		}
		n.Members = append(n.Members, m)
		done, err = p.nextElement('}')
	}
	return err
}

// readList reads the items of n, a list.
func (p *json5) readList(n *Node, depth int) error {
	done, err := p.openBracket(']')
	for !done && err == nil {
		var item *Node
		if item, err = p.readValue(depth + 1); err != nil {
			return err
		}
		n.Items = append(n.Items, item)
		done, err = p.nextElement(']')
	}
	return err
}

// readWord reads a word: a number, true, null, or a key without quotes.
func (p *json5) readWord() (string, error) {
	start := p.at
	for p.at < len(p.data) {
		r, n := utf8.DecodeRune(p.data[p.at:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_$+-.", r) {
			break
		}
		p.at += n
	}
	if p.at == start {
		return "", p.fail("a value is missing")
	}
	return string(p.data[start:p.at]), nil
}

// escapes are the escapes of one character.
var escapes = map[byte]string{
	'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '0': "\x00", '\n': "", '\r': "",
}

// readString reads a string in either kind of quotes. Lone surrogates become U+FFFD.
func (p *json5) readString() (string, error) {
	quote := p.peek()
	if err := p.refuseIf(quote != '"'); err != nil {
		return "", err
	}
	p.at++
	var b strings.Builder
	for p.at < len(p.data) {
		c := p.data[p.at]
		if err := p.refuseIf(c < ' '); err != nil {
			return "", err
		}
		switch {
		case c == quote:
			p.at++
			return b.String(), nil
		case c == '\n':
			return "", p.fail("a string without an end")
		case c != '\\':
			b.WriteByte(c)
			p.at++
		default:
			if err := p.readEscape(&b); err != nil {
				return "", err
			}
		}
	}
	return "", p.fail("a string without an end")
}

// readEscape reads an escape of a string, and writes what it stands for to b.
func (p *json5) readEscape(b *strings.Builder) error {
	p.at++
	c := p.peek()
	if err := p.refuseIf(strings.IndexByte(`"\/bfnrtu`, c) < 0); err != nil {
		return err
	}
	switch {
	case c == 'u' || c == 'x':
		r, err := p.readHex(map[byte]int{'u': 4, 'x': 2}[c])
		if err != nil {
			return err
		}
		if 0xd800 <= r && r < 0xdc00 && bytes.HasPrefix(p.data[p.at:], []byte(`\u`)) {
			before := p.at
			p.at++
			low, err := p.readHex(4)
			if err != nil {
				return err
			}
			if 0xdc00 <= low && low < 0xe000 {
				r = 0x10000 + (r-0xd800)<<10 + low - 0xdc00
			} else {
				p.at = before
			}
		}
		b.WriteRune(r)
		return nil
	case p.at >= len(p.data):
		return p.fail("a string without an end")
	}
	p.at++
	if s, ok := escapes[c]; ok {
		b.WriteString(s)
		if c == '\r' && p.peek() == '\n' {
			p.at++
		}
		return nil
	}
	b.WriteByte(c) // the rest of a character of several bytes follows as it is
	return nil
}

// readHex reads the letter of an escape and the n digits behind it.
func (p *json5) readHex(n int) (rune, error) {
	p.at++
	if p.at+n > len(p.data) {
		return 0, p.fail("an escape without its digits")
	}
	v, err := strconv.ParseUint(string(p.data[p.at:p.at+n]), 16, 32)
	if err != nil {
		return 0, p.fail("an escape without its digits")
	}
	p.at += n
	return rune(v), nil
}
