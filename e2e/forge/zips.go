package forge

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
)

// honestZip is a zip as some program writes it.
func honestZip(r *rand.Rand) *Zip {
	z := &Zip{}
	for _, name := range some(r, names, 1+r.IntN(4)) {
		e := NewEntry(name, content(r), r.IntN(3) > 0)
		switch r.IntN(6) {
		case 0:
			e.Stream()
		case 1:
			if e.Local.Method == 8 {
				e.Stream()
			}
		case 2: // a program that was told to expect a large file
			e.Local.Extra = Wide(uint64(e.Local.Size), uint64(e.Local.Packed))
			e.Local.Size, e.Local.Packed = 1<<32-1, 1<<32-1
			e.Local.Version = 45
		case 3:
			e.Local.Extra = Field(0x5455, []byte{3, 1, 2, 3, 4, 5, 6, 7, 8})
			e.Central.Extra = Field(0x5455, []byte{3, 1, 2, 3, 4})
		}
		if r.IntN(5) == 0 {
			e.Central.External = 0o100755 << 16
		}
		if r.IntN(6) == 0 {
			e.Central.MadeBy, e.Central.External = 20, 0x20
		}
		z.Entries = append(z.Entries, e)
	}
	if r.IntN(4) == 0 {
		z.Entries = append(z.Entries, NewEntry("empty/", nil, false))
	}
	switch r.IntN(8) {
	case 0:
		z.Comment = "a comment"
	case 1:
		z.Zip64, z.Saturated = true, true
	}
	return z
}

// forgery is one way to change an archive.
type forgery[T any] struct {
	what string
	do   func(r *rand.Rand, to T)
}

// entryForgery is a forgery of one entry of a zip.
func entryForgery(what string, do func(r *rand.Rand, e *Entry)) forgery[*Zip] {
	return forgery[*Zip]{what, func(r *rand.Rand, z *Zip) {
		if len(z.Entries) > 0 {
			do(r, &z.Entries[r.IntN(len(z.Entries))])
		}
	}}
}

// either is one of two headers of e, or both.
func (e *Entry) either(r *rand.Rand, do func(h *Header)) {
	at := r.IntN(3)
	if at != 0 {
		do(&e.Local)
	}
	if at != 1 {
		do(&e.Central)
	}
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// records are bytes that look like parts of a zip.
func records(r *rand.Rand) []byte {
	whole := (&Zip{Entries: []Entry{NewEntry("evil.js", []byte("evil"), r.IntN(2) == 0)}}).Bytes()
	return pick(r, whole, whole[:bytes.Index(whole, []byte("PK\x01\x02"))],
		whole[bytes.Index(whole, []byte("PK\x01\x02")):], whole[bytes.LastIndex(whole, []byte("PK\x05\x06")):],
		[]byte("junk"), make([]byte, 1+r.IntN(30)), []byte("PK\x07\x08"), []byte("#!/bin/sh\n"))
}

var zipForgeries = []forgery[*Zip]{
	{"nothing", func(*rand.Rand, *Zip) {}},
	{"data before an entry", func(r *rand.Rand, z *Zip) { z.Entries[r.IntN(len(z.Entries))].Before = records(r) }},
	{"data before the directory", func(r *rand.Rand, z *Zip) { z.Before = records(r) }},
	{"data after the directory", func(r *rand.Rand, z *Zip) {
		z.Between = records(r)
		if r.IntN(2) == 0 {
			z.Size = int64(len(z.Between))
		}
	}},
	{"data after the end", func(r *rand.Rand, z *Zip) { z.Trailing = records(r) }},
	{"a record in the comment", func(r *rand.Rand, z *Zip) { z.Comment = string(records(r)) + pick(r, "", "x") }},
	{"directory in another order", func(r *rand.Rand, z *Zip) { z.Order = r.Perm(len(z.Entries)) }},
	{"an entry twice in the directory", func(r *rand.Rand, z *Zip) {
		for i := range z.Entries {
			z.Order = append(z.Order, i)
		}
		z.Order = append(z.Order, r.IntN(len(z.Entries)))
	}},
	{"an entry without directory", func(r *rand.Rand, z *Zip) {
		e := NewEntry(pick(r, "hidden.js", z.Entries[0].Local.Name), []byte("evil"), false)
		e.Hidden = true
		z.Entries = slices.Insert(z.Entries, r.IntN(len(z.Entries)+1), e)
	}},
	{"the same name again", func(r *rand.Rand, z *Zip) {
		z.Entries = append(z.Entries, NewEntry(z.Entries[r.IntN(len(z.Entries))].Local.Name, []byte("other"), false))
	}},
	{"an odd name", func(r *rand.Rand, z *Zip) {
		z.Entries = append(z.Entries, NewEntry(pick(r, odd...), content(r), false))
	}},
	{"a wrong number of entries", func(r *rand.Rand, z *Zip) { z.Count = pick(r, -1, 1, 2) }},
	{"a wrong size of the directory", func(r *rand.Rand, z *Zip) { z.Size = pick[int64](r, -1, 1, 46, -46) }},
	{"a wrong place of the directory", func(r *rand.Rand, z *Zip) { z.Offset = pick[int64](r, -1, 1, 10, -30, 46) }},
	{"several disks", func(r *rand.Rand, z *Zip) { z.Disk = pick[uint16](r, 1, 2, 0xffff) }},
	{"numbers of 64 bits", func(r *rand.Rand, z *Zip) { z.Zip64 = true }},
	{"numbers of 64 bits that are not there", func(r *rand.Rand, z *Zip) { z.Saturated = true }},
	{"other numbers of 64 bits", func(r *rand.Rand, z *Zip) {
		z.Zip64, z.Wrong64 = true, pick[int64](r, 1, -1, 30)
		z.Saturated = r.IntN(2) == 0
	}},
	{"a wrong locator", func(r *rand.Rand, z *Zip) {
		z.Zip64, z.Saturated = true, r.IntN(2) == 0
		z.Shift64 = pick[int64](r, 1, -1, -22)
	}},
	{"data after the record of 64 bits",
		func(r *rand.Rand, z *Zip) { z.Zip64, z.Saturated, z.After64 = true, true, records(r) }},
	entryForgery("another place of a local header", func(r *rand.Rand, e *Entry) {
		e.Central.Shift = pick[int64](r, 1, -1, 30, -30)
	}),
	entryForgery("another name in one place", func(r *rand.Rand, e *Entry) {
		name := pick(r, "evil.js", "x"+e.Local.Name, strings.ToUpper(e.Local.Name), e.Local.Name+"/",
			e.Local.Name+"\x00.txt", pick(r, odd...))
		e.either(r, func(h *Header) { h.Name = name })
	}),
	entryForgery("another method", func(r *rand.Rand, e *Entry) {
		m := pick[uint16](r, 0, 8, 9, 12, 14, 93, 99)
		e.either(r, func(h *Header) { h.Method = m })
	}),
	entryForgery("other flags", func(r *rand.Rand, e *Entry) {
		f := uint16(1) << r.IntN(16)
		e.either(r, func(h *Header) { h.Flags ^= f })
	}),
	entryForgery("another version", func(r *rand.Rand, e *Entry) {
		v := pick[uint16](r, 10, 45, 51, 63, 64, 0x314, 0xffff)
		e.either(r, func(h *Header) { h.Version = v })
	}),
	entryForgery("another size", func(r *rand.Rand, e *Entry) {
		n := pick[uint32](r, 1, 2, 100, 1<<32-1, 1<<32-2)
		e.either(r, func(h *Header) { h.Size += n })
	}),
	entryForgery("another packed size", func(r *rand.Rand, e *Entry) {
		n := pick[uint32](r, 1, 4, 100, 1<<32-1, 1<<32-2)
		e.either(r, func(h *Header) { h.Packed += n })
	}),
	entryForgery("both sizes larger", func(r *rand.Rand, e *Entry) {
		n := pick[uint32](r, 1, 16, 30)
		e.either(r, func(h *Header) { h.Packed += n; h.Size += n })
	}),
	entryForgery("another checksum", func(r *rand.Rand, e *Entry) {
		n := r.Uint32()
		e.either(r, func(h *Header) { h.CRC = n })
	}),
	entryForgery("another record after the content", func(r *rand.Rand, e *Entry) {
		e.Stream()
		switch r.IntN(5) {
		case 0:
			e.After = flip(r, e.After, 2)
		case 1:
			e.After = e.After[4:] // without its signature
		case 2:
			e.After = append(e.After[:8:8], Wide(uint64(e.Central.Packed), uint64(e.Central.Size))[4:]...)
		case 3:
			e.After = nil
		case 4:
			e.After = append(e.After, records(r)...)
		}
	}),
	entryForgery("sizes given as not known", func(r *rand.Rand, e *Entry) {
		e.Local.Flags |= 8
		e.Central.Flags |= 8
	}),
	entryForgery("stored, with a record inside", func(r *rand.Rand, e *Entry) {
		inside := NewEntry(e.Local.Name, append([]byte("x"), records(r)...), false)
		inside.Stream()
		more := append(slices.Clone(inside.Body), inside.After...)
		*e = NewEntry(e.Local.Name, append(more, records(r)...), false)
		e.Stream()
	}),
	entryForgery("an extra field", func(r *rand.Rand, e *Entry) {
		field := pick(r, UnicodePath(e.Local.Name, "evil.js"), UnicodePath(e.Local.Name, e.Local.Name),
			UnicodePath("other", "evil.js"), Field(0x7075, []byte{1}),
			Wide(), Wide(1), Wide(5, 5), Wide(uint64(e.Local.Size), uint64(e.Local.Packed)),
			Field(0x756e, make([]byte, 14)), Field(0x6c78, []byte{7, 3, 20, 0, 0, 0, 0, 0, 0xed, 0xa1}),
			Field(0x9901, []byte{1, 0, 'A', 'E', 3, 0, 0}), Field(0x000d, make([]byte, 12)), []byte{1, 0, 40, 0},
			[]byte{1}, Field(0xbeef, []byte("x")), Field(0x5455, nil), Field(0x17, make([]byte, 8)),
			append(Wide(), Wide()...),
			append(UnicodePath(e.Local.Name, e.Local.Name), UnicodePath(e.Local.Name, "evil.js")...))
		e.either(r, func(h *Header) { h.Extra = append(slices.Clone(h.Extra), field...) })
	}),
	entryForgery("sizes of 64 bits", func(r *rand.Rand, e *Entry) {
		shift := pick[uint64](r, 0, 0, 1, 1<<40)
		e.either(r, func(h *Header) {
			h.Extra = Wide(uint64(h.Size)+shift, uint64(h.Packed))
			if r.IntN(3) > 0 {
				h.Size = 1<<32 - 1
			}
			if r.IntN(3) > 0 {
				h.Packed = 1<<32 - 1
			}
		})
	}),
	entryForgery("data after the stream", func(r *rand.Rand, e *Entry) {
		more := append([]byte{}, pick(r, records(r), e.Body, Deflate([]byte("more")))...)
		e.Body = append(slices.Clone(e.Body), more...)
		e.Local.Packed += uint32(len(more))
		e.Central.Packed += uint32(len(more))
		if e.Local.Method == 0 && r.IntN(2) == 0 {
			e.Local.Size, e.Central.Size = e.Local.Packed, e.Central.Packed
		}
	}),
	entryForgery("a broken stream", func(r *rand.Rand, e *Entry) { e.Body = flip(r, e.Body, 3) }),
	entryForgery("attributes", func(r *rand.Rand, e *Entry) {
		e.Central.External = pick[uint32](r, 0o120777<<16, 0o104755<<16, 0o102755<<16, 0o101777<<16, 0o020666<<16,
			0o010644<<16, 0o060644<<16, 0o140644<<16, 0o040755<<16, 0x10, 0x08, 0x400, 0o755<<16, 0, 0o100000<<16)
		e.Central.MadeBy = uint16(pick(r, 0, 3, 19, 5, 7, 10, 11, 16, 30, 200))<<8 | 20
	}),
	entryForgery("a comment of an entry", func(r *rand.Rand, e *Entry) {
		e.Central.Comment = pick(r, "note", string(records(r)))
	}),
	entryForgery("other attributes inside", func(r *rand.Rand, e *Entry) {
		e.Central.Internal = pick[uint16](r, 1, 2, 3, 0x8000)
	}),
	entryForgery("another disk", func(r *rand.Rand, e *Entry) { e.Central.Disk = pick[uint16](r, 1, 0xffff) }),
	entryForgery("two contents", func(r *rand.Rand, e *Entry) { // a second local header right behind the first
		second := NewEntry(e.Local.Name, []byte("second"), false)
		second.Hidden = true
		e.After = append(e.After, (&Zip{Entries: []Entry{second}}).Bytes()[:30+len(e.Local.Name)+6]...)
	}),
}

// harmlessZip are what programs write that read the same, or nearly.
var harmlessZip = []forgery[*Zip]{
	zipForgeries[0],
	{"an odd comment", func(r *rand.Rand, z *Zip) {
		z.Comment = pick(r, "PX\x05\x06", strings.Repeat("c", 3000), "\x00\x00", "p k")
	}},
	entryForgery("a time", func(r *rand.Rand, e *Entry) {
		e.Central.Time, e.Local.Date = uint16(r.Uint32()), uint16(r.Uint32())
	}),
	entryForgery("a known field", func(r *rand.Rand, e *Entry) {
		field := pick(r, UnicodePath(e.Local.Name, e.Local.Name),
			Field(0x7875, []byte{1, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0}), Field(0x000a, make([]byte, 32)), Field(0xcafe, nil),
			Field(0xa220, make([]byte, 20)), Field(0xd935, make([]byte, 6)), Field(0x5855, make([]byte, 8)),
			Field(0x7855, make([]byte, 4)))
		e.either(r, func(h *Header) { h.Extra = append(slices.Clone(h.Extra), field...) })
	}),
	entryForgery("sizes in one place after all", func(r *rand.Rand, e *Entry) {
		if e.Local.Flags&8 == 0 {
			e.Stream()
		}
		e.Local.Size = pick(r, 0, e.Central.Size)
		e.Local.Packed = pick(r, 0, e.Central.Packed)
		e.Local.CRC = pick(r, 0, e.Central.CRC)
		e.Local.Extra = nil
	}),
	entryForgery("permissions", func(r *rand.Rand, e *Entry) {
		e.Central.External = pick[uint32](r, 0, 0x20, 0x80, 0x2001, 0o644<<16, 0o100400<<16|1, 0o100777<<16)
		e.Central.MadeBy = uint16(pick(r, 0, 3, 10, 11, 14, 19))<<8 | pick[uint16](r, 20, 45, 63)
	}),
	{"an empty file twice in different directories", func(r *rand.Rand, z *Zip) {
		z.Entries = append(z.Entries, NewEntry("p/x", nil, true), NewEntry("q/", nil, false),
			NewEntry("q/x", nil, true))
	}},
	entryForgery("a directory with a compressed nothing", func(r *rand.Rand, e *Entry) {
		*e = NewEntry("deflated/", nil, true)
	}),
	{"no entries", func(r *rand.Rand, z *Zip) { z.Entries = z.Entries[:r.IntN(2)]; z.Order = nil }},
	entryForgery("compressed in several blocks", func(r *rand.Rand, e *Entry) {
		body := append([]byte{0, 0, 0, 0xff, 0xff, 0, 3, 0, 0xfc, 0xff, 'a', 'b', 'c'}, 1, 0, 0, 0xff, 0xff)
		*e = NewEntry(e.Local.Name, []byte("abc"), false)
		e.Local.Method, e.Central.Method = 8, 8
		e.Body = body
		e.Local.Packed, e.Central.Packed = uint32(len(body)), uint32(len(body))
	}),
}

// forgeZip makes the zip with a number: the forgeries in turn, with others beside them.
func forgeZip(r *rand.Rand, i int) Archive {
	z := honestZip(r)
	first := zipForgeries[i/2%len(zipForgeries)]
	if i%2 == 1 {
		first = pick(r, harmlessZip...)
	}
	first.do(r, z)
	what := first.what
	for r.IntN(3) == 0 {
		if len(z.Entries) == 0 {
			break
		}
		more := zipForgeries[r.IntN(len(zipForgeries))]
		more.do(r, z)
		what += ", " + more.what
	}
	data := z.Bytes()
	switch r.IntN(12) {
	case 0:
		data, what = flip(r, data, 2), what+", flipped bytes"
	case 1:
		data, what = data[:r.IntN(len(data)+1)], what+", cut"
	case 2:
		data, what = append(data, honestZip(r).Bytes()...), what+", a second zip"
	case 3:
		data, what = append(honestZip(r).Bytes(), data...), what+", behind another zip"
	}
	return Archive{What: "zip: " + what, Data: data}
}
