package surface

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits bound what is parsed. A field that is zero takes the default.
type Limits struct {
	Size   int // bytes of JSON; MaxSize
	Depth  int // levels of arrays and objects, the outermost being the first; MaxDepth
	Values int // JSON values of any kind; MaxValues
}

// CheckJSON reports whether data is exactly one JSON value (RFC 8259) that all
// parsers read alike: valid UTF-8 without byte order mark, no member name twice
// in an object at any depth, no lone surrogate, and inside the limits. Member
// names are compared after their escapes are decoded. An error is an [*Error].
func CheckJSON(data []byte, limits Limits) error {
	if _, err := parse(data, limits, modeCheck); err != nil {
		return err
	}
	return nil
}

// A value is a JSON value. The members of an object are sorted in the order of
// RFC 8785.
type value struct {
	kind    kind
	text    string // a string, decoded; a number, in its canonical spelling
	list    []value
	members []member
}

type member struct {
	name  string
	value value
}

type kind byte

const (
	isNull kind = iota
	isFalse
	isTrue
	isNumber
	isBig // an integer beyond ±2^53; text is its digits
	isString
	isArray
	isObject
)

// get finds a member of an object.
func (v *value) get(name string) (value, bool) {
	byName := func(m member, name string) int { return compareUTF16(m.name, name) }
	i, ok := slices.BinarySearchFunc(v.members, name, byName)
	if !ok {
		return value{}, false
	}
	return v.members[i].value, true
}

type mode byte

const (
	modeCheck  mode = iota // syntax only; no value is built
	modeSent               // from a server: $hallmark.int is refused
	modeStored             // from the canonical form: $hallmark.int is the only spelling of a big integer
	modeExact              // plain RFC 8785: what it would round is refused, and no name is reserved
)

type parser struct {
	src    string
	pos    int
	mode   mode
	limits Limits
	depth  int
	values int
	digits int // bytes that big integers take in canonical form

	// Elements and members of what is being read, the outermost first: an array or object
	// takes as much memory as it needs when it ends, from what is left of a block.
	*scratch
	lists   []value
	objects []member
}

// scratch is memory that the next parser uses again: most documents are small, and many
// follow each other.
type scratch struct {
	list    []value
	members []member
}

var scratches = sync.Pool{New: func() any {
	return &scratch{make([]value, 0, maxScratch), make([]member, 0, maxScratch)}
}}

// maxScratch is how many elements are kept for the next parser. Larger ones are dropped.
const maxScratch = 128

// release returns the scratch to the pool, cleared so that it keeps no document alive.
func (s *scratch) release() {
	if cap(s.list) > maxScratch || cap(s.members) > maxScratch {
		return
	}
	s.list, s.members = s.list[:cap(s.list)], s.members[:cap(s.members)]
	clear(s.list)
	clear(s.members)
	s.list, s.members = s.list[:0], s.members[:0]
	scratches.Put(s)
}

// moveToBlock copies part to the front of what is left of *block, whose memory nothing else
// refers to, and takes that part out of it. A new block is made for the document's size.
func moveToBlock[T any](part []T, block *[]T, size int) []T {
	if n := len(part); n > len(*block) {
		*block = make([]T, max(n, min(size/bytesAnElement, elementsInBlock)))
	}
	n := copy(*block, part)
	kept := (*block)[:n:n]
	*block = (*block)[n:]
	return kept
}

const (
	bytesAnElement  = 32 // of a document, for each of its elements and members, about
	elementsInBlock = 256
)

// parse reads exactly one JSON value.
func parse(data []byte, limits Limits, mode mode) (value, *Error) {
	p := parser{mode: mode, limits: limits}
	return p.parse(data)
}

func (p *parser) parse(data []byte) (value, *Error) {
	p.limits.Size = cmp.Or(p.limits.Size, MaxSize)
	p.limits.Depth = cmp.Or(p.limits.Depth, MaxDepth)
	p.limits.Values = cmp.Or(p.limits.Values, MaxValues)
	if len(data) > p.limits.Size {
		return value{}, newError(ProblemSize, "%d bytes of JSON, limit %d", len(data), p.limits.Size)
	}
	if !utf8.Valid(data) {
		return value{}, newError(ProblemUTF8, "not UTF-8 at byte %d", invalidAt(data))
	}
	p.src = string(data)
	p.scratch = scratches.Get().(*scratch)
	defer p.scratch.release()
	v, err := p.parseValue()
	if err != nil {
		return value{}, err
	}
	if p.skipSpace(); p.pos != len(p.src) {
		return value{}, p.syntaxError("something follows the value")
	}
	return v, nil
}

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

func (p *parser) syntaxError(what string) *Error {
	return newError(ProblemSyntax, "not JSON at byte %d: %s", p.pos, what)
}

func (p *parser) skipSpace() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// nextByte is the next byte after white space, or 0 at the end.
func (p *parser) nextByte() byte {
	p.skipSpace()
	if p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

func (p *parser) parseValue() (value, *Error) {
	if p.values++; p.values > p.limits.Values {
		return value{}, newError(ProblemSize, "more than %d JSON values", p.limits.Values)
	}
	switch c := p.nextByte(); {
	case c == '{':
		return p.parseObject()
	case c == '[':
		return p.parseArray()
	case c == '"':
		s, err := p.parseString()
		return value{kind: isString, text: s}, err
	case c == '-' || '0' <= c && c <= '9':
		return p.parseNumber()
	case strings.HasPrefix(p.src[p.pos:], "null"):
		p.pos += 4
		return value{kind: isNull}, nil
	case strings.HasPrefix(p.src[p.pos:], "true"):
		p.pos += 4
		return value{kind: isTrue}, nil
	case strings.HasPrefix(p.src[p.pos:], "false"):
		p.pos += 5
		return value{kind: isFalse}, nil
	}
	return value{}, p.syntaxError("no value")
}

func (p *parser) parseArray() (value, *Error) {
	if p.depth++; p.depth > p.limits.Depth {
		return value{}, p.depthError()
	}
	p.pos++
	v, start := value{kind: isArray}, len(p.list)
	if p.nextByte() == ']' {
		p.pos++
		p.depth--
		return v, nil
	}
	for {
		x, err := p.parseValue()
		if err != nil {
			return v, err
		}
		if p.mode != modeCheck {
			p.list = append(p.list, x)
		}
		switch p.nextByte() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			p.depth--
			v.list = moveToBlock(p.list[start:], &p.lists, len(p.src)-p.pos)
			p.list = p.list[:start]
			return v, nil
		default:
			return v, p.syntaxError("no comma or end of the array")
		}
	}
}

func (p *parser) parseObject() (value, *Error) {
	// A big integer in canonical form is an object but no level of its own, so
	// that what an object is must be known before its depth is judged.
	p.depth++
	if p.depth > p.limits.Depth+1 {
		return value{}, p.depthError()
	}
	p.pos++
	v, start := value{kind: isObject}, len(p.members)
	if err := p.parseMembers(); err != nil {
		return v, err
	}
	v.members = p.members[start:]
	if err := v.sortMembers(); err != nil {
		return v, err
	}
	if p.mode == modeCheck {
		v.members = nil
	} else {
		v.members = moveToBlock(v.members, &p.objects, len(p.src)-p.pos)
	}
	p.members = p.members[:start]
	if p.mode == modeStored {
		if _, ok := v.get(bigMember); ok {
			p.depth--
			return v.toBigInteger()
		}
	}
	if p.depth > p.limits.Depth {
		return v, p.depthError()
	}
	p.depth--
	return v, nil
}

// parseMembers reads members up to the end of their object, and adds them to p.members.
func (p *parser) parseMembers() *Error {
	for first := true; ; first = false {
		c := p.nextByte()
		if c == '}' && first {
			break
		}
		if c != '"' {
			return p.syntaxError("no member name")
		}
		name, err := p.parseString()
		if err != nil {
			return err
		}
		if name == bigMember && p.mode == modeSent {
			return newError(ProblemReserved, "the member name %s is reserved", bigMember)
		}
		if p.nextByte() != ':' {
			return p.syntaxError("no colon after a member name")
		}
		p.pos++
		x, err := p.parseValue()
		if err != nil {
			return err
		}
		p.members = append(p.members, member{name, x})
		if c = p.nextByte(); c == '}' {
			break
		}
		if c != ',' {
			return p.syntaxError("no comma or end of the object")
		}
		p.pos++
	}
	p.pos++
	return nil
}

func (p *parser) depthError() *Error {
	return newError(ProblemDepth, "nested deeper than %d levels at byte %d", p.limits.Depth, p.pos)
}

// sortMembers brings the members of an object into the order of RFC 8785.
func (v *value) sortMembers() *Error {
	if inOrder(v.members) {
		return nil
	}
	slices.SortFunc(v.members, func(a, b member) int { return compareUTF16(a.name, b.name) })
	for i := 1; i < len(v.members); i++ {
		if v.members[i].name == v.members[i-1].name {
			return newError(ProblemDuplicateMember, "the member \"%s\" stands twice in one object",
				Escape(clip(v.members[i].name, 96)))
		}
	}
	return nil
}

// inOrder reports whether members are in order, none of them twice.
func inOrder(members []member) bool {
	for i := 1; i < len(members); i++ {
		if compareUTF16(members[i-1].name, members[i].name) >= 0 {
			return false
		}
	}
	return true
}

// parseString reads a string with its quotes. Without escapes it shares memory with
// the source.
func (p *parser) parseString() (string, *Error) {
	p.pos++
	start := p.pos
	for ; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			return p.src[start : p.pos-1], nil
		case c == '\\':
			return p.parseEscapedString(start)
		case c < ' ':
			return "", p.syntaxError("a control character in a string")
		}
	}
	return "", p.syntaxError("a string without end")
}

// parseEscapedString reads on at the first backslash of a string that began at start.
func (p *parser) parseEscapedString(start int) (string, *Error) {
	var b strings.Builder
	for ; p.pos < len(p.src); start = p.pos {
		for p.pos < len(p.src) && p.src[p.pos] >= ' ' && p.src[p.pos] != '"' && p.src[p.pos] != '\\' {
			p.pos++
		}
		if p.pos == len(p.src) {
			break
		}
		b.WriteString(p.src[start:p.pos])
		c := p.src[p.pos]
		switch {
		case c == '"':
			p.pos++
			return b.String(), nil
		case c < ' ':
			return "", p.syntaxError("a control character in a string")
		}
		if p.pos+1 == len(p.src) {
			break
		}
		c = p.src[p.pos+1]
		if c == 'u' {
			r, err := p.parseUnicodeEscape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			continue
		}
		i := strings.IndexByte(`"\/bfnrt`, c)
		if i < 0 {
			return "", p.syntaxError("an unknown escape")
		}
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		p.pos += 2
	}
	return "", p.syntaxError("a string without end")
}

// parseUnicodeEscape reads \uXXXX, or two of them that are the halves of one code point.
func (p *parser) parseUnicodeEscape() (rune, *Error) {
	r, ok := p.parseHex4(p.pos)
	if !ok {
		return 0, p.syntaxError("no four hex digits after \\u")
	}
	if !utf16.IsSurrogate(r) {
		p.pos += 6
		return r, nil
	}
	low, _ := p.parseHex4(p.pos + 6)
	whole := utf16.DecodeRune(r, low)
	if whole == utf8.RuneError { // no pair stands for that
		return 0, newError(ProblemSurrogate, "half of a surrogate pair, \\u%04x, at byte %d", r, p.pos)
	}
	p.pos += 12
	return whole, nil
}

// parseHex4 reads \uXXXX at byte i.
func (p *parser) parseHex4(i int) (rune, bool) {
	if len(p.src)-i < 2 || p.src[i:i+2] != `\u` {
		return 0, false
	}
	return ReadUnit(p.src, i+2)
}
