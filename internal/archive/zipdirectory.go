package archive

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Flags of an entry.
const (
	flagEncrypted  = 1 << 0
	flagStrength   = 1<<1 | 1<<2 // of compression; changes nothing
	flagDescriptor = 1 << 3      // sizes and checksum follow the content
	flagUTF8       = 1 << 11
)

// Methods of compression.
const (
	methodStore   = 0
	methodDeflate = 8
)

// zipMember is an entry of a zip's directory.
type zipMember struct {
	name       string // as the directory has it; that of a folder ends in "/"
	flags      uint16
	method     uint16
	checksum   uint32
	packed     int64  // bytes
	size       int64  // bytes
	offset     int64  // of the local header
	body       int64  // offset of the content; set by readLocal
	madeBy     uint8  // the system that attributes are of
	attributes uint32 // of the file: permissions of Unix above, attributes of DOS below
	renamed    bool   // has the extra field with a second spelling of the name
}

// readDirectory reads the central directory.
func (z *zipReader) readDirectory(d zipDirectory) ([]zipMember, error) {
	data := make([]byte, d.size)
	if err := z.read(data, d.offset, ""); err != nil {
		return nil, err
	}
	entries := make([]zipMember, 0, d.entries)
	for len(data) > 0 {
		if len(entries) == d.entries {
			return nil, z.refuse(ProblemContradiction, "",
				"its directory has more than the %d entries that its end record announces", d.entries)
		}
		e, rest, err := z.parseCentral(data)
		if err != nil {
			return nil, err
		}
		entries, data = append(entries, e), rest
	}
	if len(entries) != d.entries {
		return nil, z.refuse(ProblemContradiction, "", "its directory has %d entries, and its end record announces %d",
			len(entries), d.entries)
	}
	return entries, nil
}

// parseCentral reads the first entry of data, and returns what follows it.
func (z *zipReader) parseCentral(data []byte) (e zipMember, rest []byte, err error) {
	if len(data) < zipCentralSize || !bytes.HasPrefix(data, []byte(zipCentral)) {
		return e, nil, z.refuse(ProblemNotZip, "", "its directory is corrupt")
	}
	var (
		h       = data[:zipCentralSize]
		nameLen = int(le.Uint16(h[28:]))
		extra   = int(le.Uint16(h[30:]))
		comment = int(le.Uint16(h[32:]))
	)
	if rest = data[zipCentralSize:]; len(rest) < nameLen+extra+comment {
		return e, nil, z.refuse(ProblemTruncated, "", "ends inside its directory")
	}
	e = zipMember{
		name: string(rest[:nameLen]), flags: le.Uint16(h[8:]), method: le.Uint16(h[10:]), checksum: le.Uint32(h[16:]),
		madeBy: h[5], attributes: le.Uint32(h[38:]),
	}
	fields, err := z.parseExtra(rest[nameLen:nameLen+extra], e.name)
	if err != nil {
		return e, nil, err
	}
	short := []uint32{le.Uint32(h[24:]), le.Uint32(h[20:]), le.Uint32(h[42:])}
	numbers, err := z.readNumbers(e.name, fields, short, false)
	if err != nil {
		return e, nil, err
	}
	_, e.renamed = fields[extraUnicodePath]
	e.size, e.packed, e.offset = numbers[0], numbers[1], numbers[2]
	switch disk, internal := le.Uint16(h[34:]), le.Uint16(h[36:]); {
	case comment > 0:
		err = z.refuse(ProblemContradiction, e.name, "has a comment, which could be taken for a record")
	case disk != 0:
		err = z.refuse(ProblemMultiDisk, e.name, "is on another disk")
	case internal&^1 != 0:
		err = z.refuse(ProblemMethod, e.name, "is of records, which programs unpack differently")
	default:
		err = z.checkMember(e, le.Uint16(h[6:]))
	}
	return e, rest[nameLen+extra+comment:], err
}

// checkMember refuses an entry that some programs read differently, or not at all.
func (z *zipReader) checkMember(e zipMember, version uint16) error {
	switch {
	case e.flags&flagEncrypted != 0:
		return z.refuse(ProblemMethod, e.name, "an encrypted file")
	case e.flags&^(flagStrength|flagDescriptor|flagUTF8) != 0:
		return z.refuse(ProblemMethod, e.name, "has flags %#x, which are for other than plain files", e.flags)
	case e.method != methodStore && e.method != methodDeflate:
		return z.refuse(ProblemMethod, e.name, "compressed by method %d, not by 0 or 8", e.method)
	case version > maxZipVersion:
		return z.refuse(ProblemMethod, e.name, "needs version %d of the format", version)
	case e.method == methodStore && e.packed != e.size:
		return z.refuse(ProblemContradiction, e.name, "is stored, with two sizes")
	case !utf8.ValidString(e.name):
		return z.refuse(ProblemNotUTF8, e.name, "name is not UTF-8")
	case e.flags&flagUTF8 == 0 && !spelling.IsASCII(e.name):
		return z.refuse(ProblemNotUTF8, e.name,
			"name does not say that it is UTF-8, so that programs read it in different alphabets")
	}
	return z.checkAttributes(e)
}

// Systems whose programs wrote an entry, and whose attributes are understood.
const (
	madeByFAT  = 0
	madeByUnix = 3
	madeByHPFS = 6
	madeByNTFS = 10
	madeByOld  = 11 // NTFS, in some programs
	madeByVFAT = 14
	madeByMac  = 19
)

// dosAllowed are the attributes of DOS and Windows that say nothing of what a file is:
// read-only, hidden, system, directory, archive, normal, sparse, compressed, not indexed.
const (
	dosDirectory = 0x10
	dosAllowed   = 0x01 | 0x02 | 0x04 | dosDirectory | 0x20 | 0x80 | 0x200 | 0x800 | 0x2000
)

// checkAttributes refuses what some program takes for neither a regular file nor a directory.
// Programs look at different bits, some without regard for the system that wrote them.
func (z *zipReader) checkAttributes(e zipMember) error {
	mode, dos, isDir := e.attributes>>16, e.attributes&0xffff, strings.HasSuffix(e.name, "/")
	switch e.madeBy {
	case madeByFAT, madeByUnix, madeByHPFS, madeByNTFS, madeByOld, madeByVFAT, madeByMac:
	default:
		return z.refuse(ProblemSpecial, e.name, "has attributes of system %d, which programs read differently",
			e.madeBy)
	}
	switch kind := mode & unixType; {
	case kind == unixLink:
		return z.refuse(ProblemLink, e.name, "a link; only regular files may be there")
	case kind != 0 && kind != unixRegular && kind != unixDirectory,
		kind == unixDirectory && !isDir, kind == unixRegular && isDir,
		dos&dosDirectory != 0 && !isDir, dos&^dosAllowed != 0:
		return z.refuse(ProblemSpecial, e.name, "neither a regular file nor a directory")
	case mode&unixSetID != 0:
		return z.refuse(ProblemSetID, e.name, "has the set-user, set-group or sticky bit")
	case isDir && (e.size > 0 || e.packed > 2):
		return z.refuse(ProblemSpecial, e.name, "a directory with content")
	}
	return nil
}

// isExecutable reports whether any execute permission is set, by a system that has them.
func (e *zipMember) isExecutable() bool {
	return (e.madeBy == madeByUnix || e.madeBy == madeByMac) && e.attributes>>16&0o111 != 0
}
