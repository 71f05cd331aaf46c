package archive

import (
	"bytes"
)

// zipDirectory says where the central directory of a zip is.
type zipDirectory struct {
	offset, size int64 // bytes
	entries      int
}

// findEnd reads the end record, which is the last thing in the zip, and the two records of
// 64 bits if they are there. All programs must find the same end record: those that search
// from the end, and those that read from the beginning until they meet it.
func (z *zipReader) findEnd(size int64) (zipDirectory, error) {
	record, at, err := z.readEndRecord(size)
	if err != nil {
		return zipDirectory{}, err
	}
	end := endNumbers{
		here: uint64(le.Uint16(record[8:])), entries: uint64(le.Uint16(record[10:])),
		length: uint64(le.Uint32(record[12:])), position: uint64(le.Uint32(record[16:])),
	}
	if disk, disks := le.Uint16(record[4:]), le.Uint16(record[6:]); disk != 0 || disks != 0 {
		return zipDirectory{}, z.refuse(ProblemMultiDisk, "", "a part of a zip on several disks")
	}
	large, found, err := z.findEnd64(at)
	if err != nil {
		return zipDirectory{}, err
	}
	if end, err = z.mergeEnds(end, large, found); err != nil {
		return zipDirectory{}, err
	}
	if found {
		at -= zip64LocatorSize + zip64EndSize
	}
	limit := uint64(at) // the directory ends where the first end record begins
	switch {
	case end.here != end.entries:
		return zipDirectory{}, z.refuse(ProblemMultiDisk, "", "a part of a zip on several disks")
	case end.entries > uint64(z.limits.Entries), end.length > uint64(z.limits.Directory):
		return zipDirectory{}, z.tooManyError()
	case end.position > limit || end.length > limit || end.position+end.length > limit:
		return zipDirectory{}, z.refuse(ProblemTruncated, "", "its directory would end after the zip")
	case end.position+end.length < limit:
		return zipDirectory{}, z.refuse(ProblemTrailingData, "",
			"data before the first file, or between the directory and its end record")
	}
	return zipDirectory{offset: int64(end.position), size: int64(end.length), entries: int(end.entries)}, nil
}

// readEndRecord finds the end record of 32 bits in a zip of size bytes, and its offset at.
func (z *zipReader) readEndRecord(size int64) (record []byte, at int64, err error) {
	tail := make([]byte, min(size, zipEndSize+zipAbsent16))
	if err := z.read(tail, size-int64(len(tail)), ""); err != nil {
		return nil, 0, err
	}
	i := bytes.LastIndex(tail, []byte(zipEnd))
	if i < 0 {
		return nil, 0, z.refuse(ProblemNotZip, "", "not a zip, or corrupt")
	}
	if len(tail)-i < zipEndSize {
		return nil, 0, z.refuse(ProblemTruncated, "", "ends inside its end record")
	}
	record, comment := tail[i:i+zipEndSize], tail[i+zipEndSize:]
	switch length := int(le.Uint16(record[20:])); {
	case length > len(comment):
		return nil, 0, z.refuse(ProblemTruncated, "", "ends inside its comment")
	case length < len(comment):
		return nil, 0, z.refuse(ProblemTrailingData, "", "data after the end")
	case bytes.Contains(comment, []byte("PK")):
		return nil, 0, z.refuse(ProblemContradiction, "", "its comment could be taken for a record")
	}
	return record, size - int64(len(tail)-i), nil
}

// mergeEnds takes the numbers that the end record of 32 bits has no room for from the record
// of 64 bits, if that was found. Where both hold a number they must agree, and the record of
// 64 bits must be needed.
func (z *zipReader) mergeEnds(short, long endNumbers, found bool) (endNumbers, error) {
	absent := false
	for _, f := range []struct{ short, long, max uint64 }{
		{short.here, long.here, zipAbsent16}, {short.entries, long.entries, zipAbsent16},
		{short.length, long.length, zipAbsent32}, {short.position, long.position, zipAbsent32},
	} {
		absent = absent || f.short == f.max
		if found && f.short != f.long && f.short != f.max {
			return endNumbers{}, z.refuse(ProblemContradiction, "", "its two end records disagree")
		}
	}
	switch {
	case found && !absent:
		return endNumbers{}, z.refuse(ProblemContradiction, "", "an end record of 64 bits where nothing needs one")
	case found:
		return long, nil
	case absent:
		return endNumbers{}, z.refuse(ProblemContradiction, "",
			"its end record points to one of 64 bits, which is not there")
	}
	return short, nil
}

// endNumbers are the numbers of an end record: the entries on this disk and in all, and the
// directory's size and offset in bytes.
type endNumbers struct{ here, entries, length, position uint64 }

// findEnd64 reads the two records of 64 bits that stand before the end record at offset at, and
// reports whether they are there.
func (z *zipReader) findEnd64(at int64) (endNumbers, bool, error) {
	if at < zip64LocatorSize {
		return endNumbers{}, false, nil
	}
	locator := make([]byte, zip64LocatorSize)
	if err := z.read(locator, at-zip64LocatorSize, ""); err != nil {
		return endNumbers{}, false, err
	}
	if !bytes.HasPrefix(locator, []byte(zip64Locator)) {
		return endNumbers{}, false, nil
	}
	refuse := func(why string) (endNumbers, bool, error) {
		return endNumbers{}, false, z.refuse(ProblemContradiction, "", "%s", why)
	}
	start := at - zip64LocatorSize - zip64EndSize
	if start < 0 || le.Uint64(locator[8:]) != uint64(start) {
		return refuse("its end record of 64 bits is not before the locator")
	}
	if le.Uint32(locator[4:]) != 0 || le.Uint32(locator[16:]) != 1 {
		return endNumbers{}, false, z.refuse(ProblemMultiDisk, "", "a part of a zip on several disks")
	}
	record := make([]byte, zip64EndSize)
	if err := z.read(record, start, ""); err != nil {
		return endNumbers{}, false, err
	}
	switch {
	case !bytes.HasPrefix(record, []byte(zip64End)) || le.Uint64(record[4:]) != zip64EndSize-12:
		return refuse("its end record of 64 bits is broken, or has further data")
	case le.Uint16(record[14:]) > maxZipVersion:
		return endNumbers{}, false, z.refuse(ProblemMethod, "", "needs version %d of the format",
			le.Uint16(record[14:]))
	case le.Uint32(record[16:]) != 0 || le.Uint32(record[20:]) != 0:
		return endNumbers{}, false, z.refuse(ProblemMultiDisk, "", "a part of a zip on several disks")
	}
	return endNumbers{
		here: le.Uint64(record[24:]), entries: le.Uint64(record[32:]),
		length: le.Uint64(record[40:]), position: le.Uint64(record[48:]),
	}, true, nil
}

// tooManyError is the error of a zip that has more entries than limits allow.
func (z *zipReader) tooManyError() error {
	return z.refuse(ProblemTooManyEntries, "", "more than %d entries or directories", z.limits.Entries)
}
