package registry

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A cursor is where a page ended: base64url, without padding, of
//
//	NAME NUL VERSION
//
// It is opaque to clients, may be made up by them, and is therefore a position in
// the order and nothing else: one that names no record is as good as any.
type Cursor struct{ Name, Version string }

// MaxCursor is the length of a cursor's text, in bytes: names have at most 200,
// versions at most 255 characters of up to 4 bytes.
const MaxCursor = 2048

// String is the cursor as a page gives it.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.Name + "\x00" + c.Version))
}

// ParseCursor reads a cursor; "" is the zero cursor, which is before everything.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	if len(s) > MaxCursor {
		return Cursor{}, fmt.Errorf("%w: longer than %d bytes", ErrCursor, MaxCursor)
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return Cursor{}, fmt.Errorf("%w: not base64url", ErrCursor)
	}
	name, version, ok := strings.Cut(string(text), "\x00")
	if !ok || name == "" || version == "" || strings.Contains(version, "\x00") || !utf8.Valid(text) {
		return Cursor{}, fmt.Errorf("%w: not a name and a version", ErrCursor)
	}
	return Cursor{name, version}, nil
}
