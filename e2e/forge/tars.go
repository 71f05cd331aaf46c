package forge

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

const block = 512

// Member is an entry of a tar: a header, whose fields can be forged, and its content.
type Member struct {
	Head    [block]byte
	Content []byte
	Signed  bool // the checksum adds up signed bytes
	Sealed  bool // the checksum stays as it is
}

// NewMember is an honest header of one kind with its content.
func NewMember(name string, kind byte, content []byte) *Member {
	m := &Member{Content: content}
	m.Set(0, name)
	m.Set(100, "0000644\x00")
	m.Set(108, "0000000\x00")
	m.Set(116, "0000000\x00")
	m.Set(124, fmt.Sprintf("%011o\x00", len(content)))
	m.Set(136, "00000000000\x00")
	m.Head[156] = kind
	m.Set(257, "ustar\x0000")
	if kind == '5' {
		m.Set(100, "0000755\x00")
	}
	return m
}

// Set writes text into the header.
func (m *Member) Set(at int, text string) { copy(m.Head[at:], text) }

func (m *Member) bytes() []byte {
	if !m.Sealed {
		copy(m.Head[148:156], "        ")
		sum := 0
		for _, c := range m.Head {
			if m.Signed {
				sum += int(int8(c))
			} else {
				sum += int(c)
			}
		}
		m.Set(148, fmt.Sprintf("%06o\x00 ", uint32(sum)&0o777777))
	}
	b := append(slices.Clone(m.Head[:]), m.Content...)
	return append(b, make([]byte, -len(b)&(block-1))...)
}

// Records are the records of a PAX header.
func Records(pairs ...string) []byte {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		rest := " " + pairs[i] + "=" + pairs[i+1] + "\n"
		n := len(rest) + 1
		for len(strconv.Itoa(n))+len(rest) != n {
			n++
		}
		b = append(append(b, strconv.Itoa(n)...), rest...)
	}
	return b
}

// Tar is a tar before it is written.
type Tar struct {
	Members  []*Member
	End      []byte // after the last member
	Gzip     bool
	Second   []byte // after the gzip member
	Trailing []byte
}

// Bytes writes t.
func (t *Tar) Bytes() []byte {
	var b []byte
	for _, m := range t.Members {
		b = append(b, m.bytes()...)
	}
	b = append(append(b, t.End...), t.Trailing...)
	if t.Gzip {
		b = append(Gzip(b), t.Second...)
	}
	return b
}

// Gzip compresses data as one member.
func Gzip(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// entry is an honest file of any name, with the headers that it needs.
func entry(r *rand.Rand, name string, data []byte) []*Member {
	pax := func() []*Member {
		return []*Member{NewMember("PaxHeaders/x", 'x', Records("path", name)),
			NewMember(name[:min(len(name), 90)], '0', data)}
	}
	switch {
	case len(name) <= 100 && r.IntN(4) > 0:
		m := NewMember(name, '0', data)
		switch r.IntN(4) {
		case 0:
			m.Set(257, "ustar  \x00")
		case 1:
			m.Set(100, "0000755\x00")
			m.Set(265, "user")
		}
		return []*Member{m}
	case r.IntN(3) == 0:
		long := NewMember("././@LongLink", 'L', append([]byte(name), 0))
		long.Set(257, "ustar  \x00")
		m := NewMember(name[:min(len(name), 100)], '0', data)
		m.Set(257, "ustar  \x00")
		return []*Member{long, m}
	case r.IntN(2) == 0 && len(name) > 1:
		for i := max(1, len(name)-101); i < len(name)-1; i++ {
			if name[i] == '/' && i <= 155 {
				m := NewMember(name[i+1:], '0', data)
				m.Set(345, name[:i])
				return []*Member{m}
			}
		}
	}
	return pax()
}

func honestTar(r *rand.Rand) *Tar {
	t := &Tar{Gzip: r.IntN(2) == 0}
	if r.IntN(6) == 0 {
		t.Members = append(t.Members, NewMember("pax_global_header", 'g', Records("comment", "0123456789abcdef")))
	}
	if r.IntN(4) == 0 {
		t.Members = append(t.Members, NewMember("empty/", '5', nil))
	}
	for _, name := range some(r, names, 1+r.IntN(4)) {
		t.Members = append(t.Members, entry(r, name, content(r))...)
	}
	t.End = make([]byte, pick(r, 2*block, 4*block, 20*block))
	return t
}

// memberForgery is a forgery of one file of a tar.
func memberForgery(what string, do func(r *rand.Rand, m *Member)) forgery[*Tar] {
	return forgery[*Tar]{what, func(r *rand.Rand, t *Tar) {
		if len(t.Members) > 0 {
			do(r, t.Members[r.IntN(len(t.Members))])
		}
	}}
}

// inserted puts headers before the file i of t.
func (t *Tar) insert(r *rand.Rand, more ...*Member) {
	t.Members = slices.Insert(t.Members, r.IntN(len(t.Members)+1), more...)
}

var tarForgeries = []forgery[*Tar]{
	{"nothing", func(*rand.Rand, *Tar) {}},
	{"no end", func(r *rand.Rand, t *Tar) { t.End = nil }},
	{"one block of end", func(r *rand.Rand, t *Tar) { t.End = make([]byte, block) }},
	{"an end that is no block", func(r *rand.Rand, t *Tar) { t.End = make([]byte, 1+r.IntN(2000)) }},
	{"a file after the end",
		func(r *rand.Rand, t *Tar) { t.Trailing = NewMember("evil.js", '0', []byte("evil")).bytes() }},
	{"data after the end", func(r *rand.Rand, t *Tar) {
		t.Trailing = pick(r, []byte("x"), make([]byte, 100), []byte(strings.Repeat("y", 512)))
	}},
	{"a block of zeros between files", func(r *rand.Rand, t *Tar) {
		zero := &Member{Sealed: true}
		t.Members = slices.Insert(t.Members, r.IntN(len(t.Members)), zero)
	}},
	{"a second gzip member", func(r *rand.Rand, t *Tar) {
		t.Gzip, t.Second = true,
			Gzip(pick(r, nil, make([]byte, 1024),
				append(NewMember("evil.js", '0', []byte("evil")).bytes(), make([]byte, 1024)...)))
	}},
	{"data after the gzip member", func(r *rand.Rand, t *Tar) {
		t.Gzip, t.Second = true, pick(r, []byte{0}, []byte("junk"), make([]byte, 600))
	}},
	{"the same name again", func(r *rand.Rand, t *Tar) {
		t.Members = append(t.Members, NewMember(pick(r, "", "./")+"again", '0', []byte("1")),
			NewMember("again", pick[byte](r, '0', '5', 0), []byte(pick(r, "1", "2"))))
		if r.IntN(2) == 0 {
			t.Members[len(t.Members)-1].Set(100, "0000755\x00")
		}
	}},
	{"an odd name",
		func(r *rand.Rand, t *Tar) { t.Members = append(t.Members, NewMember(pick(r, odd...), '0', content(r))) }},
	{"an odd name in PAX", func(r *rand.Rand, t *Tar) {
		t.Members = append(t.Members, NewMember("x", 'x', Records("path", pick(r, odd...))),
			NewMember("y", '0', content(r)))
	}},
	{"an odd long name", func(r *rand.Rand, t *Tar) {
		t.Members = append(t.Members,
			NewMember("././@LongLink", 'L', []byte(pick(r, odd...)+pick(r, "", "\x00", "\x00x", "\x00\x00"))),
			NewMember("y", '0', content(r)))
	}},
	{"two headers for one file", func(r *rand.Rand, t *Tar) {
		l := NewMember("././@LongLink", 'L', []byte("from-gnu\x00"))
		x := NewMember("x", 'x', Records("path", pick(r, "from-pax", "from-gnu")))
		f := NewMember("from-header", '0', []byte("x"))
		t.insert(r, pick(r, []*Member{l, x, f}, []*Member{x, l, f}, []*Member{x, x, f}, []*Member{l, l, f},
			[]*Member{x, NewMember("g", 'g', Records("comment", "c")), f})...)
	}},
	{"a path twice in PAX", func(r *rand.Rand, t *Tar) {
		t.insert(r, NewMember("x", 'x', Records("path", "first", "path", "second")), NewMember("y", '0', []byte("x")))
	}},
	{"a prefix beside a path", func(r *rand.Rand, t *Tar) {
		f := NewMember("file", '0', []byte("x"))
		f.Set(345, "prefix")
		x := pick(r, NewMember("x", 'x', Records("path", pick(r, "prefix/file", "other"))),
			NewMember("././@LongLink", 'L', []byte("prefix/file\x00")))
		t.insert(r, x, f)
	}},
	{"a prefix", func(r *rand.Rand, t *Tar) {
		f := NewMember("file", '0', []byte("x"))
		f.Set(345, pick(r, "prefix", "prefix/", "/prefix", "a\x00b", strings.Repeat("p", 155),
			strings.Repeat("p", 130)+"\x00q"))
		f.Set(257, pick(r, "ustar\x0000", "ustar  \x00", "\x00\x00\x00\x00\x00\x00\x00\x00", "ustar\x00  "))
		if r.IntN(4) == 0 {
			f.Set(508, "tar\x00")
		}
		t.insert(r, f)
	}},
	{"a size in PAX", func(r *rand.Rand, t *Tar) {
		data := bytes.Repeat([]byte("x"), 600)
		f := NewMember("sized", '0', data)
		f.Set(124, pick(r, "00000000000\x00", fmt.Sprintf("%011o\x00", 600), "00000001000\x00"))
		t.insert(r, NewMember("x", 'x',
			Records("size", pick(r, "600", "0", "512", "1024", "-1", "+600", "0600", "600 "))), f)
	}},
	{"a file inside a file", func(r *rand.Rand, t *Tar) {
		inner := append(NewMember("inner.js", '0', []byte("evil")).bytes(), NewMember("inner2.js", '0', nil).bytes()...)
		f := NewMember("outer", pick[byte](r, '0', '5', '2', '1', 'x', 'g', 'L', '7'), inner)
		if r.IntN(2) == 0 {
			f.Set(124, "00000000000\x00")
		}
		t.insert(r, f)
	}},
	{"records of PAX", func(r *rand.Rand, t *Tar) {
		data := pick(r,
			Records("GNU.sparse.major", "1", "GNU.sparse.minor", "0", "GNU.sparse.name", "sparse",
				"GNU.sparse.realsize", "5"), Records("SCHILY.realsize", "9"), Records("hdrcharset", "BINARY"),
			Records("charset", "ISO-IR 8859 1 1998"), Records("linkpath", "x"), Records("path", ""),
			Records("path", "a\x00b"), Records("mtime", "x"), Records("uid", "1_0"), Records("mode", "777"),
			Records("type", "SymbolicLink"), Records("size", "x"),
			[]byte("9 path=a\n"), []byte("99 path=a\n"), []byte("09 path=a\n"), []byte(" 9 path=a\n"),
			[]byte("10 path=ab\x00"), []byte("junk"), []byte("8 path a\n"), append(Records("path", "padded"), 0, 0, 0),
			append(Records("path", "padded"), "\n\n"...), Records("path", "dir/"), Records("path", "\xff"))
		t.insert(r, NewMember("x", pick[byte](r, 'x', 'x', 'g'), data), NewMember("ordinary", '0', []byte("x")))
	}},
	{"a global path", func(r *rand.Rand, t *Tar) {
		t.insert(r, NewMember("g", 'g', Records(pick(r, "path", "size", "linkpath", "mtime"), pick(r, "global", "3"))),
			NewMember("ordinary", '0', []byte("x")))
	}},
	{"a header at the end", func(r *rand.Rand, t *Tar) {
		t.Members = append(t.Members,
			pick(r, NewMember("x", 'x', Records("path", "nothing")),
				NewMember("././@LongLink", 'L', []byte("nothing\x00"))))
	}},
	{"a volume or directory of GNU", func(r *rand.Rand, t *Tar) {
		t.insert(r, NewMember("label", pick[byte](r, 'V', 'M', 'D', 'N', 'S', 'K', 'A', 'X'), content(r)))
	}},
	memberForgery("another kind", func(r *rand.Rand, m *Member) {
		m.Head[156] = pick(r, []byte("012345670xgLKSVMDNXAEI\x00z")...)
	}),
	memberForgery("another size", func(r *rand.Rand, m *Member) {
		n := len(m.Content)
		m.Set(124, pick(r, fmt.Sprintf("%011o ", n), fmt.Sprintf("%12o", n), fmt.Sprintf("%-12o", n),
			fmt.Sprintf("%010o\x00x", n), fmt.Sprintf("-%010o\x00", n), fmt.Sprintf("+%010o\x00", n),
			fmt.Sprintf("0o%09o\x00", n), fmt.Sprintf("%05o_%05o\x00", 0, n),
			fmt.Sprintf("%o\x007777\x00\x00\x00\x00", n),
			"\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00"+string([]byte{byte(n >> 8), byte(n)}),
			"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
			"            ", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "00000000009\x00",
			fmt.Sprintf("%011o\x00", n+512), "77777777777\x00", fmt.Sprintf("\t%010o\x00", n)))
	}),
	memberForgery("another checksum", func(r *rand.Rand, m *Member) {
		m.Sealed = true
		m.bytes()
		m.Sealed = false
		m.bytes()
		m.Sealed = true
		sum := strings.TrimRight(string(m.Head[148:154]), "\x00 ")
		m.Set(148, pick(r, sum+"  ", "\x00\x00\x00\x00\x00\x00\x00\x00", "        ", sum[:5]+"7\x00 ", "00"+sum,
			" "+sum[:6]+"\x00", "0"+sum+"\x00", sum+" \x00", sum+"\x00\x00", "-"+sum+"\x00",
			strings.TrimLeft(sum, "0")+"\x00\x00\x00\x00"))
	}),
	memberForgery("a signed checksum", func(r *rand.Rand, m *Member) { m.Signed = true; m.Set(265, "\xe9\xe9") }),
	memberForgery("another magic", func(r *rand.Rand, m *Member) {
		m.Set(257, pick(r, "ustar  \x00", "ustar\x0000", "ustar\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00",
			"USTAR\x0000", "ustar 00", "ustar\x0001"))
	}),
	memberForgery("other permissions", func(r *rand.Rand, m *Member) {
		m.Set(100, pick(r, "0004755\x00", "0002755\x00", "0001644\x00", "0100644\x00", "       \x00",
			"\x80\x00\x00\x00\x00\x00\x01\xa4", "000644 \x00", "0000999\x00", "\x00\x00\x00\x00\x00\x00\x00\x00"))
	}),
	memberForgery("an odd number", func(r *rand.Rand, m *Member) {
		at := pick(r, 108, 116, 136, 329, 337)
		m.Set(at, pick(r, "\xff\xff\xff\xff\xff\xff\xff\xff", "\x80\x00\x00\x00\x00\x00\x00\x05", "x000000\x00",
			"-000001\x00", "       ", "\x00\x00\x00\x00\x00\x00\x00\x00", "\xc0\x00\x00\x00\x00\x00\x00\x01",
			"0_1\x00\x00\x00\x00\x00", "12 34\x00\x00\x00"))
	}),
	memberForgery("a name after the name", func(r *rand.Rand, m *Member) { m.Set(90, "\x00hidden") }),
	memberForgery("a link name", func(r *rand.Rand, m *Member) { m.Set(157, "target") }),
	memberForgery("data after the prefix", func(r *rand.Rand, m *Member) {
		m.Set(pick(r, 500, 475, 476, 488, 345, 386, 482), pick(r, "x", "1", "tar\x00"))
	}),
	memberForgery("a slash after the name", func(r *rand.Rand, m *Member) {
		name, _, _ := bytes.Cut(m.Head[:99], []byte{0})
		m.Set(len(name), "/")
		m.Head[156] = pick(r, m.Head[156], 0, '0', '5')
	}),
}

// harmlessTar are what programs write that read the same, or nearly.
var harmlessTar = []forgery[*Tar]{
	tarForgeries[0],
	{"further records", func(r *rand.Rand, t *Tar) {
		x := NewMember("x", 'x',
			pick(r, Records("mtime", "1700000000.25"), Records("atime", "-3.5", "ctime", "0"),
				Records("uid", "3000000", "gid", "0", "uname", "ü"), Records("comment", "x=y\nz"),
				Records("SCHILY.xattr.user.x", "\x00\x01"),
				Records("path", "by-pax/é", "mtime", "1"), Records("path", "./by-pax"), Records("size", "5"),
				Records("LIBARCHIVE.xattr.com.apple.x", "AA=="), Records("hdrcharset", "ISO-IR 10646 2000 UTF-8"), nil))
		t.Members = append(t.Members, x, NewMember("with-more", '0', []byte("12345")))
	}},
	{"a long name", func(r *rand.Rand, t *Tar) {
		l := NewMember("././@LongLink", 'L',
			[]byte(pick(r, "short", "./dotted", strings.Repeat("l/", 120)[:119]+"x", "ü")+"\x00"))
		l.Set(257, pick(r, "ustar  \x00", "ustar\x0000"))
		t.Members = append(t.Members, l, NewMember("cut-off", '0', content(r)))
	}},
	{"old headers", func(r *rand.Rand, t *Tar) {
		m := NewMember("old", pick[byte](r, 0, '0'), content(r))
		m.Set(257, "\x00\x00\x00\x00\x00\x00\x00\x00")
		t.Members = append(t.Members, m)
	}},
	{"directories", func(r *rand.Rand, t *Tar) {
		t.Members = append(t.Members, NewMember("./", '5', nil), NewMember(pick(r, "dir", "dir/", "./dir/"), '5', nil),
			NewMember("dir/x", '0', content(r)), NewMember("dir/", '5', nil))
	}},
	{"dots", func(r *rand.Rand, t *Tar) {
		t.Members = append(t.Members, NewMember(pick(r, "./dotted", "./in/.//./dotted", "in//dotted", ".//dotted"), '0',
			content(r)), NewMember(pick(r, "./in/./", "in//", ".//", "in/./."), '5', nil))
	}},
	{"the same file again", func(r *rand.Rand, t *Tar) {
		again := func() *Member { return NewMember(pick(r, "in/twice", "in/./twice", "./in//twice"), '0', []byte("1")) }
		t.Members = append(t.Members, again(), NewMember("between", '0', content(r)), again())
	}},
	{"numbers", func(r *rand.Rand, t *Tar) {
		m := NewMember("numbered", '0', []byte("123"))
		m.Set(124, pick(r, "          3 ", "          3\x00", "00000000003 ",
			"3 \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
		m.Set(pick(r, 108, 116),
			pick(r, "\x80\x00\x00\x00\x00\x2d\xc6\xc0", "     0 \x00", "\x00\x00\x00\x00\x00\x00\x00\x00",
				"       \x00"))
		m.Set(136, pick(r, "14371234567 ", "\x80\x00\x00\x00\x00\x00\x00\x00\x65\x00\x00\x00", "00000000000\x00"))
		t.Members = append(t.Members, m)
	}},
	{"a prefix of any length", func(r *rand.Rand, t *Tar) {
		m := NewMember("prefixed", '0', content(r))
		m.Set(345, strings.Repeat("p/", 100)[:1+2*r.IntN(77)])
		t.Members = append(t.Members, m)
	}},
	{"a name of 100 bytes", func(r *rand.Rand, t *Tar) {
		t.Members = append(t.Members, NewMember(strings.Repeat("n", 99+r.IntN(2)), '0', content(r)))
	}},
	{"times behind the prefix", func(r *rand.Rand, t *Tar) {
		m := NewMember("timed", '0', content(r))
		m.Set(345, strings.Repeat("p/", 100)[:r.IntN(132)])
		m.Set(476, pick(r, "15270546233\x0015270546233", "15270546233 ", "\x80", "x"))
		t.Members = append(t.Members, m)
	}},
	{"no files", func(r *rand.Rand, t *Tar) { t.Members = nil }},
}

// forgeTar makes the tar with a number: the forgeries in turn, with others beside them.
func forgeTar(r *rand.Rand, i int) Archive {
	t := honestTar(r)
	first := tarForgeries[i/2%len(tarForgeries)]
	if i%2 == 1 {
		first = pick(r, harmlessTar...)
	}
	first.do(r, t)
	what := first.what
	for r.IntN(3) == 0 {
		if len(t.Members) == 0 {
			break
		}
		more := tarForgeries[r.IntN(len(tarForgeries))]
		more.do(r, t)
		what += ", " + more.what
	}
	data := t.Bytes()
	switch r.IntN(12) {
	case 0:
		data, what = flip(r, data, 2), what+", flipped bytes"
	case 1:
		data, what = data[:r.IntN(len(data)+1)], what+", cut"
	case 2:
		data, what = append(data, honestTar(r).Bytes()...), what+", a second tar"
	}
	return Archive{What: "tar: " + what, Tar: true, Data: data}
}
