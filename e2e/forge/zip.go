package forge

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
)

var le = binary.LittleEndian

// Header is what a zip says of an entry in one of two places.
type Header struct {
	Version, Flags, Method, Time, Date uint16
	CRC, Packed, Size                  uint32
	Name                               string
	Extra                              []byte

	// In the directory only.
	MadeBy, Disk, Internal uint16
	External               uint32
	Comment                string
	Shift                  int64 // added to the offset of the local header
}

// Entry is an entry of a zip, as its two headers and the bytes between them.
type Entry struct {
	Local, Central Header
	Before         []byte // bytes before the local header
	Body           []byte
	After          []byte // a descriptor, or other bytes
	Hidden         bool   // no entry in the directory
	at             int64
}

// Zip is a zip before it is written, each part of which can be forged.
type Zip struct {
	Entries   []Entry
	Order     []int  // of the directory, by entry; nil: as they are
	Before    []byte // bytes before the directory
	Between   []byte // bytes between the directory and the end records
	Zip64     bool
	After64   []byte // bytes after the end record of 64 bits
	Shift64   int64  // added to the offset in its locator
	Comment   string
	Trailing  []byte
	Count     int   // added to the number of entries
	Size      int64 // added to the size of the directory
	Offset    int64 // added to its offset
	Disk      uint16
	Saturated bool // the numbers of 32 bits say that those of 64 bits count
	Wrong64   int64
}

// NewEntry is an honest entry.
func NewEntry(name string, content []byte, deflate bool) Entry {
	h := Header{Version: 20, Name: name, CRC: crc32.ChecksumIEEE(content), Packed: uint32(len(content)),
		Size: uint32(len(content)), MadeBy: 3<<8 | 20, External: 0o100644 << 16}
	if name != "" && name[len(name)-1] == '/' {
		h.External = 0o040755<<16 | 0x10
	}
	for i := range len(name) {
		if name[i] >= 0x80 {
			h.Flags |= 1 << 11
			break
		}
	}
	body := content
	if deflate {
		h.Method, body = 8, Deflate(content)
		h.Packed = uint32(len(body))
	}
	return Entry{Local: h, Central: h, Body: body}
}

// Deflate compresses data.
func Deflate(data []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// Stream makes e one whose sizes follow its content.
func (e *Entry) Stream() {
	e.Local.Flags |= 1 << 3
	e.Central.Flags |= 1 << 3
	e.After = le.AppendUint32([]byte("PK\x07\x08"), e.Central.CRC)
	e.After = le.AppendUint32(e.After, e.Central.Packed)
	e.After = le.AppendUint32(e.After, e.Central.Size)
	e.Local.CRC, e.Local.Packed, e.Local.Size = 0, 0, 0
}

// Field is an extra field.
func Field(id uint16, data []byte) []byte {
	return append(le.AppendUint16(le.AppendUint16(nil, id), uint16(len(data))), data...)
}

// UnicodePath is the extra field of a second name.
func UnicodePath(of, name string) []byte {
	return Field(0x7075, append(le.AppendUint32([]byte{1}, crc32.ChecksumIEEE([]byte(of))), name...))
}

// Wide is the extra field of numbers of 64 bits.
func Wide(numbers ...uint64) []byte {
	var data []byte
	for _, n := range numbers {
		data = le.AppendUint64(data, n)
	}
	return Field(1, data)
}

func (h *Header) append(b []byte) []byte {
	for _, n := range []uint16{h.Version, h.Flags, h.Method, h.Time, h.Date} {
		b = le.AppendUint16(b, n)
	}
	for _, n := range []uint32{h.CRC, h.Packed, h.Size} {
		b = le.AppendUint32(b, n)
	}
	return le.AppendUint16(le.AppendUint16(b, uint16(len(h.Name))), uint16(len(h.Extra)))
}

// Bytes writes z.
func (z *Zip) Bytes() []byte {
	var b []byte
	for i := range z.Entries {
		e := &z.Entries[i]
		b = append(b, e.Before...)
		e.at = int64(len(b))
		b = e.Local.append(append(b, "PK\x03\x04"...))
		b = append(append(append(append(b, e.Local.Name...), e.Local.Extra...), e.Body...), e.After...)
	}
	b = append(b, z.Before...)
	var (
		start = int64(len(b))
		order = z.Order
		count int
	)
	if order == nil {
		for i := range z.Entries {
			order = append(order, i)
		}
	}
	for _, i := range order {
		e := &z.Entries[i]
		if e.Hidden {
			continue
		}
		count++
		h := e.Central
		b = h.append(le.AppendUint16(append(b, "PK\x01\x02"...), h.MadeBy))
		b = le.AppendUint16(b, uint16(len(h.Comment)))
		b = le.AppendUint16(le.AppendUint16(b, h.Disk), h.Internal)
		b = le.AppendUint32(le.AppendUint32(b, h.External), uint32(e.at+h.Shift))
		b = append(append(append(b, h.Name...), h.Extra...), h.Comment...)
	}
	size := int64(len(b)) - start
	b = append(b, z.Between...)
	count += z.Count
	size += z.Size
	start += z.Offset
	if z.Zip64 {
		at := int64(len(b))
		b = le.AppendUint64(append(b, "PK\x06\x06"...), 44)
		b = append(b, 45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		for _, n := range []int64{int64(count), int64(count), size, start + z.Wrong64} {
			b = le.AppendUint64(b, uint64(n))
		}
		b = append(b, z.After64...)
		b = le.AppendUint32(append(b, "PK\x06\x07"...), 0)
		b = le.AppendUint64(b, uint64(at+z.Shift64))
		b = le.AppendUint32(b, 1)
	}
	b = append(b, "PK\x05\x06"...)
	b = le.AppendUint16(le.AppendUint16(b, z.Disk), z.Disk)
	if z.Saturated {
		count, size, start = 0xffff, 0xffffffff, 0xffffffff
	}
	b = le.AppendUint16(le.AppendUint16(b, uint16(count)), uint16(count))
	b = le.AppendUint32(le.AppendUint32(b, uint32(size)), uint32(start))
	b = append(le.AppendUint16(b, uint16(len(z.Comment))), z.Comment...)
	return append(b, z.Trailing...)
}
