package tree

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Sizes of the canonical tar, in bytes.
const (
	TarBlock   = 512               // headers, and the unit that contents are padded to
	TarRecord  = 20 * TarBlock     // the unit that the whole is padded to
	MaxTarPath = 100               // of a path
	MaxTarSize = 1<<33 - 1         // of a file: 11 octal digits
	zeroField  = "0000000\x00"     // uid and gid
	modeField  = "0000644\x00"     // rw-r--r--
	timeField  = "00000000000\x00" // 1970
)

// FacetTar is the facet-tar fingerprint of files, which may come in any order, and the
// number of bytes of their canonical tar: the digest of what [WriteTar] writes.
func FacetTar(ctx context.Context, files []File, open Open, width int) (digest.Digest, int64, error) {
	h := digest.NewHasher()
	size, err := WriteTar(ctx, h, files, open, width)
	if err != nil {
		return digest.Digest{}, 0, err
	}
	return h.Digest(digest.SHA256), size, nil
}

// WriteTar writes the canonical tar of files, which may come in any order, to w and
// returns the number of bytes. Up to width files are read at once (0: one for each
// processor), in bounded memory whatever their sizes. It is an error if a file has
// another size than declared, a path twice, or a path or size that no header holds.
func WriteTar(ctx context.Context, w io.Writer, files []File, open Open, width int) (int64, error) {
	files, err := sortFiles(files, CompareUTF16)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, f := range files {
		if err := checkTar(f.Path, f.Size); err != nil {
			return 0, err
		}
		total += TarBlock + f.Size + TarPadding(f.Size)
	}
	frame := framing{
		head: func(dst []byte, f File) []byte { return appendTarHeader(dst, f.Path, f.Size) },
		tail: func(dst []byte, f File) []byte { return append(dst, make([]byte, TarPadding(f.Size))...) },
	}
	if _, err := (source{files: files, open: open, width: width}).stream(ctx, frame, w); err != nil {
		return 0, err
	}
	end := TarEnd(total)
	if _, err := w.Write(make([]byte, end)); err != nil {
		return 0, err
	}
	return total + end, nil
}

// TarHeader is the header of one file in a canonical tar.
func TarHeader(path string, size int64) ([]byte, error) {
	if err := checkTar(path, size); err != nil {
		return nil, err
	}
	return appendTarHeader(make([]byte, 0, TarBlock), path, size), nil
}

// TarPadding is the number of zeros after a content of size bytes.
func TarPadding(size int64) int64 { return -size & (TarBlock - 1) }

// TarEnd is the number of zeros after entries of size bytes in all.
func TarEnd(size int64) int64 { return (TarRecord - size%TarRecord) % TarRecord }

func checkTar(path string, size int64) error {
	switch {
	case path == "":
		return fmt.Errorf("%w: it is empty", ErrPath)
	case len(path) > MaxTarPath:
		return fmt.Errorf("%w: %+q has %d bytes; a canonical tar holds %d", ErrPath, path, len(path), MaxTarPath)
	case size < 0 || size > MaxTarSize:
		return fmt.Errorf("%w: %+q has %d bytes; a canonical tar holds %d", ErrTooLarge, path, size, int64(MaxTarSize))
	}
	return nil
}

// appendTarHeader appends the header of a file that passes checkTar.
func appendTarHeader(dst []byte, path string, size int64) []byte {
	var h [TarBlock]byte
	copy(h[0:100], path)
	copy(h[100:108], modeField)
	copy(h[108:116], zeroField)
	copy(h[116:124], zeroField)
	octal := strconv.FormatInt(size, 8)
	copy(h[124:136], timeField[:11-len(octal)]+octal)
	copy(h[136:148], timeField)
	h[156] = '0'
	copy(h[257:265], "ustar\x0000")
	sum := int64(8 * ' ') // the checksum's own field, empty as yet
	for _, c := range h {
		sum += int64(c)
	}
	copy(h[148:156], strconv.FormatInt(sum, 8))
	return append(dst, h[:]...)
}

// CompareUTF16 orders paths of valid UTF-8 as a canonical tar has them, by UTF-16 code
// units. That is the order of bytes, save that code points beyond U+FFFF, which begin
// with F0 or more, come before U+E000 to U+FFFF, which begin with EE or EF.
func CompareUTF16(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}
