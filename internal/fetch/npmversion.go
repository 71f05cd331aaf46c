package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// NPMVersion is what an npm registry says of one version of a package. All text is
// the publisher's.
type NPMVersion struct {
	Name       string
	Version    string
	MCPName    string            // mcpName: the MCP server that this package is for
	Bin        map[string]string // commands and their files, normalised as npm does; nil if none
	Tarball    string            // dist.tarball
	Integrity  string            // dist.integrity, subresource integrity
	Shasum     string            // dist.shasum, sha1 in hex
	Private    bool              // of a package.json: npm does not publish it
	Deprecated string            // the message, "" if it is not deprecated
	Raw        []byte            // the document as served
	From       string            // its URL
}

// npmURL returns where a registry keeps a package's document, or that of one version. The slash
// of a scoped name is escaped.
func npmURL(base string, segments ...string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("the npm registry's URL cannot be parsed")
	}
	if err := transfer.CheckURLFrom(u, u); err != nil {
		return nil, fmt.Errorf("the npm registry %s: %w", wire.ShowURL(u), err)
	}
	return joinURL(base, segments...)
}

// parseNPMVersion reads a version's document. Members are matched by their exact names; one
// that is not of the expected type counts as missing. The cause belongs to the error.
func parseNPMVersion(data []byte, name, version string) (*NPMVersion, evidence.Cause, error) {
	v, doc := readNPMManifest(data)
	if v == nil {
		return nil, evidence.Unreachable, errors.New("the answer is not a version's document")
	}
	var dist map[string]json.RawMessage
	v.Deprecated, v.Raw = deprecation(doc["deprecated"]), data
	if v.Name != name || v.Version != version {
		return nil, evidence.NotFound, fmt.Errorf("the answer is for %s version %s", wire.Quoted(v.Name),
			wire.Quoted(v.Version))
	}
	if json.Unmarshal(doc["dist"], &dist) == nil {
		v.Tarball, v.Integrity, v.Shasum = decodeText(dist["tarball"]), decodeText(dist["integrity"]),
			decodeText(dist["shasum"])
	}
	if v.Tarball == "" {
		return nil, evidence.NotFound, errors.New("the version's document names no tarball (dist.tarball)")
	}
	return v, "", nil
}

// maxNPMManifest bounds the package.json of a tarball on this machine, in bytes.
const maxNPMManifest = 4 << 20

// ReadNPMTarball returns what the package.json in a tarball on this machine says, as far as no registry has to say it.
func ReadNPMTarball(name string) (*NPMVersion, error) {
	data, err := ReadNPMManifest(name, maxNPMManifest)
	if err != nil {
		return nil, err
	}
	v, _ := readNPMManifest(data)
	if v == nil {
		return nil, errors.New("its package.json is no JSON object")
	}
	return v, nil
}

// readNPMManifest reads what a package.json says, and a version's document with it; nil if data is none.
func readNPMManifest(data []byte) (*NPMVersion, map[string]json.RawMessage) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\uFEFF")), &doc); err != nil || doc == nil {
		return nil, nil
	}
	v := &NPMVersion{Name: decodeText(doc["name"]), Version: decodeText(doc["version"]),
		MCPName: decodeText(doc["mcpName"])}
	v.Bin, v.Private = npmBin(v.Name, doc["bin"]), string(doc["private"]) == "true"
	return v, doc
}

// npmBin returns "bin" in one form. A single path is the command that is named as the package
// without its scope, a list gives commands that are named as their files. Names lose their
// directories; paths become relative, without "..".
func npmBin(name string, raw json.RawMessage) map[string]string {
	var (
		single  string
		list    []string
		members map[string]any
	)
	switch {
	case json.Unmarshal(raw, &single) == nil && single != "":
		members = map[string]any{name: single}
	case json.Unmarshal(raw, &list) == nil:
		members = make(map[string]any, len(list))
		for _, file := range list {
			members[path.Base(file)] = file
		}
	case json.Unmarshal(raw, &members) != nil:
		return nil
	}
	bin := make(map[string]string)
	for key, value := range members {
		file, ok := value.(string)
		base := path.Base(strings.NewReplacer(`\`, "/", ":", "/").Replace(key))
		file = strings.TrimPrefix(path.Join("/", strings.ReplaceAll(file, `\`, "/")), "/")
		if ok && file != "" && base != "." && base != ".." && base != "/" {
			bin[base] = file
		}
	}
	if len(bin) == 0 {
		return nil
	}
	return bin
}

// claims returns what the registry says of the tarball: dist.integrity, or dist.shasum if that
// is missing or cannot be read. For each that cannot be read, bad says so.
func (v *NPMVersion) claims(ref artifact.Ref) (claims []evidence.Claim, bad evidence.Report) {
	read := func(text, where string, parse func(string) ([]digest.Digest, error)) bool {
		claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.File, Text: text,
			Authority: evidence.Registry, Where: "the npm registry, " + where}
		want, err := parse(text)
		if err != nil {
			cause := evidence.Malformed
			if _, ok := errors.AsType[*digest.UnknownAlgorithmError](err); ok {
				cause = evidence.Unsupported
			}
			bad = append(bad, evidence.CannotVerify(claim, cause, err.Error()))
			return false
		}
		claim.Want = want
		claims = append(claims, claim)
		return true
	}
	if v.Integrity != "" && read(v.Integrity, "dist.integrity", digest.ParseSRI) {
		return claims, bad
	}
	if v.Shasum != "" {
		read(v.Shasum, "dist.shasum", func(s string) ([]digest.Digest, error) {
			d, err := digest.ParseHex(digest.SHA1, s)
			return []digest.Digest{d}, err
		})
	}
	return claims, bad
}

// deprecation returns what a publisher says against a version, "" for nothing.
func deprecation(value json.RawMessage) string {
	if string(bytes.TrimSpace(value)) == "true" {
		return "deprecated"
	}
	return decodeText(value)
}
