package archive

import "bytes"

// walkLocal reads the local headers from the first byte on, and compares each with the entry
// of the directory that has the same place in the order. They must follow each other
// without a gap, up to the directory d.
func (z *zipReader) walkLocal(entries []zipMember, d zipDirectory) error {
	position := int64(0)
	renamed, deferred := false, false
	for i := range entries {
		e := &entries[i]
		renamed, deferred = renamed || e.renamed, deferred || e.flags&flagDescriptor != 0
		if renamed && deferred {
			return z.refuse(ProblemExtraField, e.name,
				"is in a zip with second names and sizes that follow the content, which some programs refuse")
		}
		switch {
		case e.offset < position:
			return z.refuse(ProblemOverlap, e.name,
				"begins inside another file, or is not in the order of the directory")
		case e.offset > position:
			return z.refuse(ProblemGap, e.name,
				"follows data that belongs to no file, or is not in the order of the directory")
		}
		end, err := z.readLocal(e, d.offset)
		if err != nil {
			return err
		}
		position = end
	}
	if position != d.offset {
		return z.refuse(ProblemGap, "", "there is data before the directory that belongs to no file")
	}
	return nil
}

// readLocal compares the local header of e, and the record after its content, with the
// directory. It returns where the bytes of e end; limit is where the directory begins.
func (z *zipReader) readLocal(e *zipMember, limit int64) (end int64, err error) {
	differs := func(what string) (int64, error) {
		return 0, z.refuse(ProblemContradiction, e.name, "has %s in its local header than in the directory", what)
	}
	h, nameLen, extraLen, err := z.readLocalHeader(e, limit)
	if err != nil {
		return 0, err
	}
	name := string(h[zipLocalSize : zipLocalSize+nameLen])
	switch {
	case name != e.name:
		return differs("another name")
	case le.Uint16(h[4:]) > maxZipVersion:
		return 0, z.refuse(ProblemMethod, e.name, "needs version %d of the format", le.Uint16(h[4:]))
	case le.Uint16(h[6:]) != e.flags:
		return differs("other flags")
	case le.Uint16(h[8:]) != e.method:
		return differs("another method of compression")
	}
	fields, err := z.parseExtra(h[zipLocalSize+nameLen:zipLocalSize+nameLen+extraLen], name)
	if err != nil {
		return 0, err
	}
	if _, renamed := fields[extraUnicodePath]; renamed != e.renamed {
		return differs("another spelling of the name")
	}
	if err := z.compareSizes(e, h, fields); err != nil {
		return 0, err
	}
	if e.packed > limit-e.body {
		return 0, z.refuse(ProblemTruncated, e.name, "ends inside this file")
	}
	if end = e.body + e.packed; e.flags&flagDescriptor == 0 {
		return end, nil
	}
	_, large := fields[extraZip64]
	return z.readDescriptor(e, end, limit, large)
}

// readLocalHeader reads the local header of e with the name and the extra fields that follow it, and sets where the
// content begins.
func (z *zipReader) readLocalHeader(e *zipMember, limit int64) (h []byte, nameLen, extraLen int, err error) {
	// The name and the usual extra fields mostly fit what is read at once.
	h = make([]byte, min(zipLocalSize+len(e.name)+64, int(limit-e.offset)))
	if len(h) < zipLocalSize {
		return nil, 0, 0, z.refuse(ProblemTruncated, e.name, "ends inside its local header")
	}
	if err := z.read(h, e.offset, e.name); err != nil {
		return nil, 0, 0, err
	}
	if !bytes.HasPrefix(h, []byte(zipLocal)) {
		return nil, 0, 0, z.refuse(ProblemContradiction, e.name, "has no local header where the directory says")
	}
	nameLen, extraLen = int(le.Uint16(h[26:])), int(le.Uint16(h[28:]))
	if e.body = e.offset + int64(zipLocalSize+nameLen+extraLen); e.body > limit {
		return nil, 0, 0, z.refuse(ProblemTruncated, e.name, "ends inside its local header")
	}
	if need := zipLocalSize + nameLen + extraLen; need > len(h) {
		h = make([]byte, need)
		if err := z.read(h, e.offset, e.name); err != nil {
			return nil, 0, 0, err
		}
	}
	return h, nameLen, extraLen, nil
}

// compareSizes compares sizes and checksum of the local header h with those of the directory.
// If a record follows the content, h has zero for what was not known when it was written.
func (z *zipReader) compareSizes(e *zipMember, h []byte, fields map[uint16][]byte) error {
	var (
		checksum    = le.Uint32(h[14:])
		packed, raw = le.Uint32(h[18:]), le.Uint32(h[22:])
		deferred    = e.flags&flagDescriptor != 0
		sizes       = []int64{0, 0}
		err         error
	)
	// Some programs that do not know the sizes yet write zeros beside the field for them, and that of
	// the wheels of protobuf writes both sizes twice: whichever is read, it is the same.
	same := le.AppendUint64(le.AppendUint64(nil, uint64(raw)), uint64(packed))
	if field := fields[extraZip64]; bytes.Equal(field, same) && packed != zipAbsent32 && raw != zipAbsent32 &&
		(!deferred || packed == 0 && raw == 0) {
		sizes = []int64{int64(raw), int64(packed)}
	} else {
		if sizes, err = z.readNumbers(e.name, fields, []uint32{raw, packed}, true); err != nil {
			return err
		}
	}
	agrees := func(local, central int64) bool { return local == central || deferred && local == 0 }
	if !agrees(sizes[0], e.size) || !agrees(sizes[1], e.packed) || !agrees(int64(checksum), int64(e.checksum)) {
		return z.refuse(ProblemContradiction, e.name,
			"has other sizes or another checksum in its local header than in the directory")
	}
	return nil
}

// readDescriptor compares the record at offset at with the directory. It follows a content
// whose size was not known when the local header was written, and has numbers of 64 bits
// (large) if that header has a field for them.
func (z *zipReader) readDescriptor(e *zipMember, at, limit int64, large bool) (end int64, err error) {
	want := append([]byte(zipDescriptor), make([]byte, 12)...)
	le.PutUint32(want[4:], e.checksum)
	if large {
		want = append(want, make([]byte, 8)...)
		le.PutUint64(want[8:], uint64(e.packed))
		le.PutUint64(want[16:], uint64(e.size))
	} else {
		if e.packed >= zipAbsent32 || e.size >= zipAbsent32 {
			return 0, z.refuse(ProblemContradiction, e.name, "is too large for the record after it")
		}
		le.PutUint32(want[8:], uint32(e.packed))
		le.PutUint32(want[12:], uint32(e.size))
	}
	if end = at + int64(len(want)); end > limit {
		return 0, z.refuse(ProblemTruncated, e.name, "ends inside the record after this file")
	}
	got := make([]byte, len(want))
	if err := z.read(got, at, e.name); err != nil {
		return 0, err
	}
	if !bytes.Equal(got, want) {
		return 0, z.refuse(ProblemContradiction, e.name,
			"has other sizes or another checksum after its content than in the directory")
	}
	return end, nil
}
