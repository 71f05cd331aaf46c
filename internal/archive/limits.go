package archive

import "cmp"

// Limits bounds what is read. A zero field takes the default.
type Limits struct {
	Packed    int64 // bytes of the archive; default MaxPacked
	Unpacked  int64 // bytes of the uncompressed tar, or of a zip's contents; default 512 MiB
	Ratio     int64 // unpacked bytes for each packed one; default 200
	Entries   int   // entries, and also directories above them; default 20,000
	Directory int64 // bytes of a zip's list of files; default 256 KiB, and 256 for each of Entries
}

// MaxPacked is the default of Limits.Packed, in bytes.
const MaxPacked = 64 << 20

// RatioFloor is how many unpacked bytes are never too many for the packed ones: the
// padding of a small tar alone compresses better than any text.
const RatioFloor = 1 << 20

// directoryShare bounds what is read of a zip's directory, in bytes for each entry that
// the limits allow: its entries are held in memory.
const directoryShare = 256

// Effective is l with the defaults in place of the fields that are zero.
func (l Limits) Effective() Limits {
	l.Packed, l.Unpacked = cmp.Or(l.Packed, MaxPacked), cmp.Or(l.Unpacked, 512<<20)
	l.Ratio, l.Entries = cmp.Or(l.Ratio, 200), cmp.Or(l.Entries, 20_000)
	l.Directory = cmp.Or(l.Directory, 1<<18+int64(l.Entries)*directoryShare)
	return l
}
