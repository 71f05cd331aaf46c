package archive

import (
	"bytes"
	"encoding/binary"
)

// Signatures of the records of a zip.
const (
	zipLocal      = "PK\x03\x04"
	zipDescriptor = "PK\x07\x08"
	zipCentral    = "PK\x01\x02"
	zipEnd        = "PK\x05\x06"
	zip64End      = "PK\x06\x06"
	zip64Locator  = "PK\x06\x07"
)

// Sizes of records, in bytes, without what varies.
const (
	zipLocalSize     = 30
	zipCentralSize   = 46
	zipEndSize       = 22
	zip64EndSize     = 56
	zip64LocatorSize = 20
)

// What a field of 16 or 32 bits holds if the number stands in 64 bits elsewhere.
const (
	zipAbsent16 = 1<<16 - 1
	zipAbsent32 = 1<<32 - 1
)

// maxZipVersion is the newest version of the format that an entry may need: 4.5, which has
// the numbers of 64 bits.
const maxZipVersion = 45

// directoryShare bounds what is read of a zip's directory, in bytes for each entry that
// the limits allow: its entries are held in memory.
const directoryShare = 256

// zipDirectory says where the central directory of a zip is.
type zipDirectory struct {
	offset, size int64 // bytes
	entries      int
}

var le = binary.LittleEndian

// findEnd reads the end record, which is the last thing in the zip, and the two of the
// 64-bit form if they are there. All programs must find the same one: those that look for
// it from the end, and those that read on until they meet it.
func (z *zipReader) findEnd(size int64) (zipDirectory, error) {
	tail := make([]byte, min(size, zipEndSize+zipAbsent16))
	if err := z.read(tail, size-int64(len(tail)), ""); err != nil {
		return zipDirectory{}, err
	}
	i := bytes.LastIndex(tail, []byte(zipEnd))
	if i < 0 {
		return zipDirectory{}, z.refuse(ProblemNotZip, "", "not a zip, or corrupt")
	}
	if len(tail)-i < zipEndSize {
		return zipDirectory{}, z.refuse(ProblemTruncated, "", "ends inside its end record")
	}
	record, comment := tail[i:i+zipEndSize], tail[i+zipEndSize:]
	switch length := int(le.Uint16(record[20:])); {
	case length > len(comment):
		return zipDirectory{}, z.refuse(ProblemTruncated, "", "ends inside its comment")
	case length < len(comment):
		return zipDirectory{}, z.refuse(ProblemTrailingData, "", "data after the end")
	case bytes.Contains(comment, []byte("PK")):
		return zipDirectory{}, z.refuse(ProblemContradiction, "", "its comment could be taken for a record")
	}
	at := size - int64(len(tail)-i) // of the record
	var (
		disk, disks      = le.Uint16(record[4:]), le.Uint16(record[6:])
		here, entries    = uint64(le.Uint16(record[8:])), uint64(le.Uint16(record[10:]))
		length, position = uint64(le.Uint32(record[12:])), uint64(le.Uint32(record[16:]))
	)
	if disk != 0 || disks != 0 {
		return zipDirectory{}, z.refuse(ProblemMultiDisk, "", "a part of a zip on several disks")
	}
	large, found, err := z.findEnd64(at)
	if err != nil {
		return zipDirectory{}, err
	}
	if found {
		absent := false
		for _, f := range []struct{ short, long, max uint64 }{
			{here, large.here, zipAbsent16}, {entries, large.entries, zipAbsent16},
			{length, large.length, zipAbsent32}, {position, large.position, zipAbsent32},
		} {
			absent = absent || f.short == f.max
			if f.short != f.long && f.short != f.max {
				return zipDirectory{}, z.refuse(ProblemContradiction, "", "its two end records disagree")
			}
		}
		if !absent {
			return zipDirectory{}, z.refuse(ProblemContradiction, "", "an end record of 64 bits where nothing needs one")
		}
		here, entries, length, position = large.here, large.entries, large.length, large.position
		at -= zip64LocatorSize + zip64EndSize
	} else if here == zipAbsent16 || entries == zipAbsent16 || length == zipAbsent32 || position == zipAbsent32 {
		return zipDirectory{}, z.refuse(ProblemContradiction, "", "its end record points to one of 64 bits, which is not there")
	}
	switch {
	case here != entries:
		return zipDirectory{}, z.refuse(ProblemMultiDisk, "", "a part of a zip on several disks")
	case entries > uint64(z.limits.Entries), length > uint64(z.limits.Directory):
		return zipDirectory{}, z.tooManyError()
	case position > uint64(at) || length > uint64(at) || position+length > uint64(at):
		return zipDirectory{}, z.refuse(ProblemTruncated, "", "its directory would end after the zip")
	case position+length < uint64(at):
		return zipDirectory{}, z.refuse(ProblemTrailingData, "", "data before the first file, or between the directory and its end record")
	}
	return zipDirectory{offset: int64(position), size: int64(length), entries: int(entries)}, nil
}

// zipEnd64 is the end record of 64 bits.
type zipEnd64 struct{ here, entries, length, position uint64 }

// findEnd64 reads the records that stand before the end record at offset at, if a locator
// is there.
func (z *zipReader) findEnd64(at int64) (zipEnd64, bool, error) {
	if at < zip64LocatorSize {
		return zipEnd64{}, false, nil
	}
	locator := make([]byte, zip64LocatorSize)
	if err := z.read(locator, at-zip64LocatorSize, ""); err != nil {
		return zipEnd64{}, false, err
	}
	if !bytes.HasPrefix(locator, []byte(zip64Locator)) {
		return zipEnd64{}, false, nil
	}
	refuse := func(why string) (zipEnd64, bool, error) {
		return zipEnd64{}, false, z.refuse(ProblemContradiction, "", "%s", why)
	}
	start := at - zip64LocatorSize - zip64EndSize
	if start < 0 || le.Uint64(locator[8:]) != uint64(start) {
		return refuse("its end record of 64 bits is not before the locator")
	}
	if le.Uint32(locator[4:]) != 0 || le.Uint32(locator[16:]) != 1 {
		return zipEnd64{}, false, z.refuse(ProblemMultiDisk, "", "a part of a zip on several disks")
	}
	record := make([]byte, zip64EndSize)
	if err := z.read(record, start, ""); err != nil {
		return zipEnd64{}, false, err
	}
	switch {
	case !bytes.HasPrefix(record, []byte(zip64End)) || le.Uint64(record[4:]) != zip64EndSize-12:
		return refuse("its end record of 64 bits is broken, or has further data")
	case le.Uint16(record[14:]) > maxZipVersion:
		return zipEnd64{}, false, z.refuse(ProblemMethod, "", "needs version %d of the format", le.Uint16(record[14:]))
	case le.Uint32(record[16:]) != 0 || le.Uint32(record[20:]) != 0:
		return zipEnd64{}, false, z.refuse(ProblemMultiDisk, "", "a part of a zip on several disks")
	}
	return zipEnd64{le.Uint64(record[24:]), le.Uint64(record[32:]), le.Uint64(record[40:]), le.Uint64(record[48:])}, true, nil
}
