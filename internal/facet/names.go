package facet

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// maxName is the longest name that is made of what a directory says.
const maxName = 64

// noVersion is the version of what has none of the form M.N.P.
const noVersion = "0.0.0"

// assetName makes the name of a skill, agent, command or server of what its author calls it: ASCII letters become lower
// case, and each run of anything but ASCII letters and digits becomes one hyphen, but for those at the ends. It is ""
// if nothing is left, or more than 64 characters are.
func assetName(written string) string {
	var b strings.Builder
	for i := range len(written) {
		c := written[i]
		switch {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteByte(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() > maxName+1 {
			return ""
		}
	}
	name := strings.TrimSuffix(b.String(), "-")
	if len(name) > maxName {
		return ""
	}
	return name
}

// facetName makes the name of a facet as assetName does; a single character is none.
func facetName(written string) string {
	if name := assetName(written); CheckName(name) {
		return name
	}
	return ""
}

// ownName is the part of a facet's name that follows its scope.
func ownName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// versionOf is written if that is M.N.P, else 0.0.0.
func versionOf(written string) string {
	if r, err := artifact.ParseRequirement(written); err == nil && r.Exact() {
		return written
	}
	return noVersion
}

// encode writes v as RFC 8785 does.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return jcs.Transform(b.Bytes())
}
