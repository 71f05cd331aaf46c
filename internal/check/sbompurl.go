package check

import (
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
)

// purlOf is the package URL of a package or image; "" for refs of other kinds.
func purlOf(ref artifact.Ref) string {
	switch ref.Kind() {
	case artifact.NPM:
		return makePURL("npm", strings.ToLower(ref.Name()), ref.Version())
	case artifact.PyPI:
		return makePURL("pypi", ref.Normal().Name(), ref.Version(), "file_name", ref.Filename())
	case artifact.Go:
		return makePURL("golang", strings.ToLower(ref.Name()), ref.Version())
	case artifact.OCI:
		return makePURL("oci", strings.ToLower(path.Base(ref.Name())), ref.Digest().String(),
			"repository_url", ref.Name())
	}
	return ""
}

// filePURL is the package URL of a file that belongs to no package: its name, and its hash in place of a version.
func filePURL(name string, d digest.Digest) string {
	return makePURL("generic", path.Base(name), "", "checksum", d.String())
}

// makePURL writes a package URL in its canonical form. name may have a namespace before a slash; qualifiers are keys,
// sorted, each with its value, of which empty ones are left out.
func makePURL(kind, name, version string, qualifiers ...string) string {
	var b strings.Builder
	b.WriteString("pkg:" + kind)
	for part := range strings.SplitSeq(name, "/") {
		b.WriteString("/" + escapePURL(part))
	}
	if version != "" {
		b.WriteString("@" + escapePURL(version))
	}
	separator := "?"
	for q := range slices.Chunk(qualifiers, 2) {
		if q[1] != "" {
			b.WriteString(separator + q[0] + "=" + escapePURL(q[1]))
			separator = "&"
		}
	}
	return b.String()
}

// escapePURL escapes all but what the form of package URLs has as it is, which is the colon besides what URLs have.
func escapePURL(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte(".-_~:", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
