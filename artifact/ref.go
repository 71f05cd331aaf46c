// Package artifact holds Refs: the names of artifacts, that is of things whose
// bytes can be fetched and hashed.
//
// # Format
//
//	npm:[@scope/]name@version          the tarball
//	pypi:name==version/filename        that file of the release
//	pypi:name==version                 the release; its only file, else ambiguous
//	github:owner/repo/tag/asset        the release asset; the tag may hold "/"
//	oci:host/repo[:tag][@sha256:hex]   the manifest as served
//	nuget:id@version                   the .nupkg
//	cargo:name@version                 the .crate
//	https://host/path                  the body
//	git+https://host/path#commit       the tree of a commit (40 hex digits),
//	git+ssh://[user@]host/path#commit  also over ssh
//	file:path                          the file, relative to the document naming it
//
// A module of Go is go:module/path@version, and its bytes are the module's zip.
//
// A Ref prints back to exactly what it was parsed from. Two Refs name the same
// artifact if and only if their [Ref.Normal] forms are equal with ==.
//
// # Rules
//
// A Ref is at most [MaxLength] bytes of printable ASCII without spaces; file: paths
// may hold any printable Unicode text and spaces.
//
// Versions are exact. Ranges, wildcards and "latest" are errors. npm and cargo
// versions follow Semantic Versioning 2.0.0, PyPI versions PEP 440, NuGet versions
// have one to four numbers and an optional suffix. Versions of Go modules begin with
// "v" and are canonical, pseudo-versions included. The tag of a github: Ref is a
// git tag; "latest" is refused, and so is the URL of the latest release. An oci: Ref
// needs a tag or a digest, and a tag "latest" needs a digest beside it.
//
// URLs have a host name or an IPv4 address, no userinfo (git+ssh: a user name but no
// password), no "." or ".." segments and no escaped control characters. A fragment
// of an https: URL is read and ignored.
//
// A file: path uses "/", is relative and has no ".." segment, so that a document
// from outside names nothing above itself.
//
// # Normal form
//
// An https: URL loses its fragment and port 443, its host becomes lower case, its
// escapes upper case and unreserved characters unescaped, its empty path "/". If it is the
// URL of a GitHub release asset without a query it becomes the github: Ref. GitHub
// owners and repositories, NuGet ids and cargo names become lower case (case does
// not tell them apart), PyPI names follow PEP 503. PyPI and NuGet versions are
// compared as those registries compare them: "1.0" is "1.0.0". The tag of an oci: Ref
// beside a digest is dropped, and the names of the default registry of image references
// are one. A normal form is for comparison: fetch and print the Ref as it was written.
//
// The vectors are in spec/refs.json.
package artifact

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/digest"
)

// MaxLength is the largest length of a Ref in bytes.
const MaxLength = 2048

// Kind says where an artifact comes from.
type Kind string

// The kinds.
const (
	NPM    Kind = "npm"
	PyPI   Kind = "pypi"
	GitHub Kind = "github"
	OCI    Kind = "oci"
	NuGet  Kind = "nuget"
	Cargo  Kind = "cargo"
	Go     Kind = "go"
	HTTPS  Kind = "https"
	Git    Kind = "git"
	File   Kind = "file"
)

// Ref names an artifact. The zero value names nothing. Refs are equal with == if
// they are spelled alike; compare [Ref.Normal] to ask for the same artifact.
type Ref struct {
	text     string
	kind     Kind
	name     string
	version  string
	filename string
	sha256   string // hex, of oci: alone
	url      string
}

// Part names what is wrong with a text that is no Ref.
type Part string

// The parts.
const (
	PartKind     Part = "kind"     // no known prefix
	PartName     Part = "name"     // name of a package, repository or owner
	PartVersion  Part = "version"  // missing, not exact or malformed version, tag or commit
	PartFilename Part = "filename" // name of a file of a release
	PartDigest   Part = "digest"   // what follows @ in oci:
	PartURL      Part = "url"      // host, userinfo, port, path, query
	PartPath     Part = "path"     // of file:
	PartText     Part = "text"     // too long, control characters, not UTF-8
)

// ParseError is the error of every function of this package that makes a Ref.
type ParseError struct {
	Text   string // what was parsed
	Part   Part   // what is wrong with it
	Reason string // why, for a person; holds no text from outside
}

// Error shows the text, of a long one the beginning, and what is wrong with it.
func (e *ParseError) Error() string {
	text := e.Text
	if len(text) > 128 {
		return fmt.Sprintf("%+q…: %s", text[:128], e.Reason)
	}
	return fmt.Sprintf("%+q: %s", text, e.Reason)
}

// refuse returns a [*ParseError] without its Text, which Parse adds.
func refuse(part Part, format string, args ...any) error {
	return &ParseError{Part: part, Reason: fmt.Sprintf(format, args...)}
}

// Parse reads a Ref. Its error is a [*ParseError].
func Parse(s string) (Ref, error) {
	r, err := parse(s)
	if err != nil {
		if e, ok := err.(*ParseError); ok {
			e.Text = s
		}
		return Ref{}, err
	}
	r.text = s
	return r, nil
}

func parse(s string) (Ref, error) {
	if len(s) > MaxLength {
		return Ref{}, refuse(PartText, "longer than %d bytes", MaxLength)
	}
	kind, rest, ok := strings.Cut(s, ":")
	if err := checkText(s, kind == string(File)); err != nil {
		return Ref{}, err
	}
	if !ok {
		return Ref{}, refuse(PartKind, "names no kind of artifact, such as npm: or https:")
	}
	switch kind {
	case "npm":
		return parseAtVersion(NPM, rest, checkNPMName, checkSemver)
	case "nuget":
		return parseAtVersion(NuGet, rest, checkNuGetID, checkNuGetVersion)
	case "cargo":
		return parseAtVersion(Cargo, rest, checkCrateName, checkSemver)
	case "go":
		return parseAtVersion(Go, rest, checkModulePath, checkModuleVersion)
	case "pypi":
		return parsePyPI(rest)
	case "github":
		return parseGitHub(rest)
	case "oci":
		return parseOCI(rest)
	case "https":
		return parseHTTPS(rest)
	case "git+https":
		return parseGit("https", rest)
	case "git+ssh":
		return parseGit("ssh", rest)
	case "file":
		return parseFile(rest)
	case "http", "git+http", "git":
		return Ref{}, refuse(PartKind, "plain %s is not read; use https", kind)
	}
	return Ref{}, refuse(PartKind, "unknown kind of artifact")
}

// checkText refuses what is not printable ASCII without spaces or, if unicodeAllowed, not
// printable text of one line.
func checkText(s string, unicodeAllowed bool) error {
	if !utf8.ValidString(s) {
		return refuse(PartText, "is not UTF-8")
	}
	for _, c := range s {
		switch {
		case unicodeAllowed && (c == ' ' || unicode.IsGraphic(c) && !unicode.IsSpace(c)):
		case c < '!' || c > '~':
			return refuse(PartText, "holds %U, which a Ref cannot", c)
		}
	}
	return nil
}

// String is exactly what was parsed, or "" for the zero value.
func (r Ref) String() string { return r.text }

// IsZero reports whether r names nothing.
func (r Ref) IsZero() bool { return r.kind == "" }

// Kind says where the artifact comes from. It is empty for the zero value.
func (r Ref) Kind() Kind { return r.kind }

// Name is "@scope/name" or "name" for npm, the name for PyPI, NuGet and cargo, a module's path,
// "owner/repo" for GitHub, "host/repo" for OCI, and else empty.
func (r Ref) Name() string { return r.name }

// Version is the version of a package, the tag of a GitHub release or an OCI image
// ("" if it has a digest alone), the commit of git, and else empty.
func (r Ref) Version() string { return r.version }

// Filename is the file of a PyPI release ("" if the Ref names the release), the asset of a GitHub release,
// the last segment of an https path (unescaped, "" if that is no plain file name),
// the path of file:, and else empty.
func (r Ref) Filename() string { return r.filename }

// Digest is the digest in an oci: Ref, else the zero value.
func (r Ref) Digest() digest.Digest {
	if r.sha256 == "" {
		return digest.Digest{}
	}
	d, _ := digest.ParseHex(digest.SHA256, r.sha256) // checked by parseOCI
	return d
}

// URL is what to request: the URL without fragment for https, the URL of the
// repository ("https://…" or "ssh://…") for git, and else empty.
func (r Ref) URL() string { return r.url }

// MarshalText returns the text of String.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.text), nil }

// UnmarshalText reads what [Parse] does; empty text gives the zero value.
func (r *Ref) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*r = Ref{}
		return nil
	}
	*r, err = Parse(string(text))
	return err
}

// Release is the normal form of what r is a file of: the whole release of PyPI, else r itself.
func (r Ref) Release() Ref {
	if r.kind == PyPI {
		r.filename = ""
	}
	return r.Normal()
}

// Normal is the canonical spelling of r, for comparison. It may be a few bytes longer
// than [MaxLength] and then does not parse again.
func (r Ref) Normal() Ref {
	switch r.kind {
	case PyPI:
		r.name, r.version = normalPyPIName(r.name), normalPEP440(r.version)
		r.text = "pypi:" + r.name + "==" + r.version
		if r.filename != "" {
			r.text += "/" + r.filename
		}
	case GitHub:
		r.name = strings.ToLower(r.name)
		r.text = "github:" + r.name + "/" + r.version + "/" + r.filename
	case OCI:
		host, repo, _ := strings.Cut(r.name, "/")
		if strings.Contains(host, ".") { // else only the port distinguishes it from a repository
			host = normalHost(host, "443")
		}
		r.name = normalRepository(strings.ToLower(host) + "/" + repo)
		if r.sha256 != "" {
			r.version = ""
			r.text = "oci:" + r.name + "@sha256:" + r.sha256
		} else {
			r.text = "oci:" + r.name + ":" + r.version
		}
	case NuGet:
		r.name, r.version = strings.ToLower(r.name), normalNuGetVersion(r.version)
		r.text = "nuget:" + r.name + "@" + r.version
	case Cargo:
		r.name = strings.ToLower(r.name)
		r.text = "cargo:" + r.name + "@" + r.version
	case HTTPS:
		r.url = normalURL(r.url)
		r.text = r.url
		if asset, ok := releaseAsset(r.url); ok {
			return asset.Normal()
		}
	case Git:
		r.url = normalURL(r.url)
		r.text = "git+" + r.url + "#" + r.version
	case File:
		r.filename = path.Clean(r.filename)
		r.text = "file:" + r.filename
	case NPM, Go: // one spelling
	}
	return r
}
