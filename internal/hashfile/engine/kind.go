package engine

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// kindSize is how many bytes of a file tell its kind.
const kindSize = 16

// kinds are the beginnings of files of kinds that models ask for.
var kinds = []struct{ begin, name string }{
	{"\x89PNG\r\n", "a PNG image"},
	{"\xff\xd8\xff", "a JPEG image"},
	{"GIF8", "a GIF image"},
	{"BM", "a bitmap image"},
	{"\x00\x00\x01\x00", "an icon"},
	{"%PDF-", "a PDF document"},
	{"PK\x03\x04", "a ZIP archive, or a document in one"},
	{"PK\x05\x06", "an empty ZIP archive"},
	{"\x1f\x8b", "compressed with gzip"},
	{"\x28\xb5\x2f\xfd", "compressed with Zstandard"},
	{"\xfd7zXZ", "compressed with XZ"},
	{"BZh", "compressed with bzip2"},
	{"\x7fELF", "a program"},
	{"MZ", "a program"},
	{"\xcf\xfa\xed\xfe", "a program"},
	{"\xca\xfe\xba\xbe", "a program"},
	{"\x00asm", "a program"},
	{"SQLite format 3", "an SQLite database"},
	{"OggS", "sound or video"},
	{"ID3", "sound"},
	{"wOF", "a font"},
	{"\xff\xfe", "text in UTF-16"},
	{"\xfe\xff", "text in UTF-16"},
}

// kindOf names the kind of a file that begins with these bytes and is no text in UTF-8; "" if it is not known.
func kindOf(begin []byte) string {
	for _, k := range kinds {
		if bytes.HasPrefix(begin, []byte(k.begin)) {
			return k.name
		}
	}
	switch {
	case len(begin) >= 12 && string(begin[:4]) == "RIFF" && string(begin[8:12]) == "WEBP":
		return "a WebP image"
	case len(begin) >= 4 && string(begin[:4]) == "RIFF":
		return "sound or video"
	case len(begin) >= 8 && string(begin[4:8]) == "ftyp":
		return "video"
	}
	return ""
}

// RefuseBinary refuses a file that is no text and begins with these bytes. Err says where that shows.
func refuseBinary(path string, begin []byte, err *hashline.Error) *place.Refusal {
	where := strings.TrimPrefix(err.Error(), "is binary: ")
	return place.Refuse(hashline.Binary, "%s is %s (%s); the tools here read and edit text in UTF-8 only",
		place.Show(path), cmp.Or(kindOf(begin), "binary"), where)
}

// refuse returns an error about the open file of a place as a refusal.
func refuse(p *place.Place, f *os.File, err error) *place.Refusal {
	var binary *hashline.Error
	if !errors.As(err, &binary) || binary.Code != hashline.Binary {
		return place.RefusalOf(p.Asked, err)
	}
	begin := make([]byte, kindSize)
	n, _ := f.ReadAt(begin, 0)
	return refuseBinary(p.Asked, begin[:n], binary)
}
