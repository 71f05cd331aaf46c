package archive

import "hash/crc32"

// Extra fields of an entry that are accepted. Others are refused, because a program may take
// from them a name, a kind of file or a size that no other program sees.
const (
	extraZip64       = 0x0001
	extraTimesNTFS   = 0x000a
	extraTimesUnix   = 0x5455
	extraOldUnix     = 0x5855 // times and owners
	extraOwnerOld    = 0x7855
	extraOwner       = 0x7875
	extraUnicodePath = 0x7075
	extraUnicodeNote = 0x6375
	extraJava        = 0xcafe // marks a jar
	extraPadding     = 0xa220 // room that a package of Office or NuGet leaves
	extraAlignment   = 0xd935 // zeros that align the content
)

// isKnownExtra reports whether all programs know, or skip, a field of this kind and length.
func isKnownExtra(id uint16, data []byte) bool {
	switch n := len(data); id {
	case extraZip64, extraUnicodePath: // their content is checked by readNumbers and parseExtra
		return true
	case extraTimesUnix:
		return n > 0 && n <= 13 && n%4 == 1
	case extraOldUnix:
		return n == 8 || n == 12
	case extraOwnerOld:
		return n == 0 || n == 4
	case extraOwner: // version, and two numbers with their lengths
		return n == 0 || n > 3 && data[0] == 1 && n > 2+int(data[1]) && n == 3+int(data[1])+int(data[2+int(data[1])])
	case extraTimesNTFS:
		return n == 32
	case extraJava:
		return n == 0
	case extraUnicodeNote, extraPadding, extraAlignment:
		return true
	}
	return false
}

// parseExtra splits the extra data of an entry into its fields, of which each may be there
// once. A second spelling of its name must equal name.
func (z *zipReader) parseExtra(data []byte, name string) (map[uint16][]byte, error) {
	var fields map[uint16][]byte
	for len(data) > 0 {
		if len(data) < 4 || len(data)-4 < int(le.Uint16(data[2:])) {
			return nil, z.refuse(ProblemExtraField, name, "has extra fields that are cut off")
		}
		id, length := le.Uint16(data), int(le.Uint16(data[2:]))
		if _, twice := fields[id]; twice {
			return nil, z.refuse(ProblemExtraField, name, "has extra field %#04x twice", id)
		}
		if !isKnownExtra(id, data[4:4+length]) {
			return nil, z.refuse(ProblemExtraField, name, "has extra field %#04x, which programs read differently", id)
		}
		if fields == nil {
			fields = map[uint16][]byte{}
		}
		fields[id], data = data[4:4+length], data[4+length:]
	}
	if path, ok := fields[extraUnicodePath]; ok {
		if len(path) < 5 || path[0] != 1 || le.Uint32(path[1:]) != crc32.ChecksumIEEE([]byte(name)) ||
			string(path[5:]) != name {
			return nil, z.refuse(ProblemContradiction, name, "has a second name that is another")
		}
	}
	return fields, nil
}

// readNumbers returns the numbers of an entry: those of short, and for each that is absent
// there the next in the field of 64 bits, which must hold these numbers and nothing else. In
// a local header the field holds both sizes or neither.
func (z *zipReader) readNumbers(name string, fields map[uint16][]byte, short []uint32, local bool) ([]int64, error) {
	field, ok := fields[extraZip64]
	long := make([]int64, len(short))
	absent := 0
	for i, n := range short {
		if long[i] = int64(n); n != zipAbsent32 {
			continue
		}
		if absent++; len(field) < 8*absent || le.Uint64(field[8*(absent-1):]) > 1<<62 {
			return nil, z.refuse(ProblemContradiction, name,
				"has a size or place of 64 bits that is missing or impossible")
		}
		long[i] = int64(le.Uint64(field[8*(absent-1):]))
	}
	switch {
	case ok && len(field) != 8*absent:
		return nil, z.refuse(ProblemContradiction, name, "has numbers of 64 bits beside those that nothing needs there")
	case ok && absent == 0:
		return nil, z.refuse(ProblemContradiction, name, "has an empty field for numbers of 64 bits")
	case local && absent == 1:
		return nil, z.refuse(ProblemContradiction, name, "has one size of 64 bits in its local header, and one of 32")
	}
	return long, nil
}
