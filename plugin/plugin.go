// Package plugin reads the manifest of a Node plugin, checks what it says against the
// plugin's files, and states all that it finds as evidence.
//
// # A plugin
//
// A directory, or a zip of one, with mcp-plugin.json and dist/. Nothing else of it is
// hashed: documents (*.md, *.txt, LICENSE and the like, mcp-plugin.sig, lock files) may
// stand beside dist/, whatever else does is reported.
//
// # Manifest
//
// Version 2, strict JSON of at most [MaxManifest] bytes. Its members, their forms and
// limits come from spec/plugin.schema.json, which [Parse] has as a table in Go. Members that
// the guide does not name are kept at the top, and in capabilities that are objects
// with a name; they mean nothing, and the signature of the whole manifest covers them. In the other
// objects they are errors, and so is everywhere one that is a member of ours but for its case,
// "-" and "_", or a letter or two: it would be ignored. Beyond the schema: checksum paths that are
// one after normalisation, two capabilities of one name, a plugin that depends on itself, an external
// dependency that is there twice, paths that some platform cannot hold. A dist.hash that is missing or
// malformed is no error of the manifest but evidence, so that it is judged as one.
//
// [Inspect] reads of a manifest with errors what can be read. [Check] takes it: the errors are evidence
// beside what the files show, and nothing with an error is admitted. Whatever else needs a manifest has
// it from Parse.
//
// Paths of checksums may be written dist/x or x.
//
// # Evidence, in this order
//
//	form        manifest   each error of the manifest's form; each member that the guide does not name
//	dist        manifest   dist.hash, under the profile that the manifest names, or the
//	                       first of tree.Profiles that gives it; strict: guide only
//	tree        manifest   the value of hallmark-tree-v1 in dist.hashes
//	extent      manifest   dist.fileCount and dist.totalBytes
//	file        manifest   each of dist.checksums, and with coverage all each other file
//	coverage    manifest   absent unless the tree's hash, or all checksums, are there
//	unhashed    manifest   each file that could be loaded and that dist.hash does not cover
//	import      manifest   what the code imports, as package plugin classifies it
//	permission  manifest   core modules that need a permission
//	permission  caller     flags of the host that the plugin needs
//	allowlist   caller     external packages that the host allows
//	file        publisher  integrity of external packages, beside package-lock.json
//	signature, statement   each signature; by machine: whether one by a trusted key holds
//	capability  caller     what was declared beside what was registered
//	tool        caller     registered tools with a bad name or schema
//
// What a lock says of the plugin is compared before the capabilities, which are looked at
// only if nothing before them is refused. A strictness that the host asked for and that
// cannot be checked is missing: STRICT_CAPABILITIES and STRICT_TOOLS where nobody says what
// was registered, STRICT_TOOLS for a tool of which only the name is told, STRICT_INTEGRITY
// where external packages lie beside dist/ and nothing vouches for them.
//
// # Signatures
//
// An element of signatures is over the text of dist.hash exactly as it is in the
// manifest. That leaves name, version, entry, permissions and policy unsigned. An
// element of x-hallmark-signatures is over
//
//	"hallmark-plugin-manifest-v1" 0a  RFC 8785 form of the manifest
//
// without the members signatures and x-hallmark-signatures. Beside the manifest,
// mcp-plugin.sig may hold a signature over dist.hash: a .minisig file, JSON {"alg",
// "signature", "keyId"}, or base64 alone, which every trusted key is tried with. A
// signature that does not hold is refused whether or not signatures are required, and so are
// one that no key can have made and a file in another form; one by a key that is not trusted
// counts as none.
//
// The algorithms are
//
//	Ed25519            over the message
//	RSA-SHA256         PKCS #1 v1.5, a key of 2,048 to 8,192 bits
//	ECDSA-P256-SHA256  ASN.1, a key on P-256
//	ECDSA-P384-SHA384  ASN.1, a key on P-384
//	minisign           the text of a .minisig file, its trusted comment included
//
// A key has one algorithm, which follows from the key itself. A signature that states
// another one is refused before any arithmetic: what is stated comes from the author of
// the signature, and must not choose how it is checked.
//
// # Keys of signatures
//
// A public key is PEM "PUBLIC KEY" (PKIX), or what minisign prints: its two-line file or
// the base64 line alone. A private key is PEM "PRIVATE KEY" (PKCS #8), "RSA PRIVATE KEY"
// or "EC PRIVATE KEY", or minisign's file, which may be encrypted by a password.
//
// # Trusted keys
//
// A keys file is JSON of at most [MaxKeysFile] bytes:
//
//	{"version": 1,
//	 "keys": [{"id": "acme-2026", "public_key": "-----BEGIN PUBLIC KEY-----\n…",
//	           "owner": "…", "added": TIME, "not_before": TIME, "not_after": TIME,
//	           "revoked": TIME, "reason": "…"}]}
//
// All but id, public_key and added may be missing; a TIME is RFC 3339. An id is 1 to 200 of
// [A-Za-z0-9._-]; no id and no key is there twice. A revoked key verifies nothing, whenever
// the signature says that it was made: that time is the signer's own word. For the
// same reason not_before and not_after are compared with the present.
package plugin

import (
	"encoding/json"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Names of files and directories of a plugin.
const (
	ManifestFile  = "mcp-plugin.json"
	SignatureFile = "mcp-plugin.sig"
	DistDir       = "dist"
	LockFile      = "install.lock.json" // written by Hallmark beside an installed plugin
)

// Limits of a manifest.
const (
	MaxManifest = 1 << 20 // bytes
	MaxDepth    = 32      // nested objects and arrays
)

// FramedAlg is the alg of the tree's fingerprint in dist.hashes.
const FramedAlg = "hallmark-tree-v1"

// Policy says which external packages a plugin may import.
type Policy string

// The policies.
const (
	BundledOnly       Policy = "bundled-only" // the default
	ExternalAllowed   Policy = "external-allowed"
	ExternalAllowlist Policy = "external-allowlist"
	SandboxRequired   Policy = "sandbox-required"
)

// Manifest is an mcp-plugin.json of version 2.
type Manifest struct {
	Name         string       `json:"name"`
	Version      string       `json:"version"`
	Entry        string       `json:"entry"` // below dist/
	Description  string       `json:"description"`
	Capabilities Capabilities `json:"capabilities"`
	Dependencies []string     `json:"dependencies"` // plugins to load before this one
	Dist         Dist         `json:"-"`
	Permissions  Permissions  `json:"permissions"`
	Externals    []External   `json:"externalDependencies"`
	Policy       Policy       `json:"dependenciesPolicy"`
	Signatures   []Signature  `json:"signatures"`            // over dist.hash
	Statements   []Signature  `json:"x-hallmark-signatures"` // over the manifest
	Profile      tree.Profile `json:"x-hash-profile"`        // "" if it names none
	Further      []Member     `json:"-"`                     // that others add, in the order of their places
	Raw          []byte       `json:"-"`                     // what was parsed

	issues []Issue // of a manifest that only Inspect accepts
	noHash bool    // dist.hash is one of them
}

// Member is a member of a manifest that means nothing to us: it is kept, shown, and covered by the
// signature of the whole manifest.
type Member struct {
	Path  string // JSON pointer
	Value json.RawMessage
}

var namePattern = spelling.Form(`^[a-z0-9_-]{1,100}$`)

// CheckName reports whether name can be that of a plugin.
func CheckName(name string) bool { return namePattern().MatchString(name) }

// Subject names the plugin in evidence. One whose name or version cannot be read is its manifest's.
func (m *Manifest) Subject() string {
	if m.Name == "" || m.Version == "" {
		return ManifestFile
	}
	return m.Name + "@" + m.Version
}

// Capabilities are the names that a plugin registers.
type Capabilities struct {
	Tools     []string `json:"tools"`
	Resources []string `json:"resources"`
	Prompts   []string `json:"prompts"`
}

// Permissions are what the code may use core modules for.
type Permissions struct {
	Network bool `json:"network"`
	FSRead  bool `json:"fsRead"`
	FSWrite bool `json:"fsWrite"`
	Exec    bool `json:"exec"`
}

// Dist is what the manifest claims of the files below dist/.
type Dist struct {
	Hash      string            // as written; "" if it is missing or no string
	Hashes    []Hash            // further hashes of dist/
	FileCount int64             // -1: not claimed
	Bytes     int64             // -1: not claimed
	All       bool              // coverage is all
	Checksums map[string]string // hex SHA-256 by path below dist/
}

// Hash is a further hash of dist/.
type Hash struct {
	Alg   string `json:"alg"`
	Value string `json:"value"`
}

// External is a package that is not part of dist/.
type External struct {
	Name        string `json:"name"`
	Version     string `json:"version"` // exact; "" if it is not, which is a problem of the manifest
	Integrity   string `json:"integrity"`
	Integrities []Hash `json:"integrities"`
	Optional    bool   `json:"optional"`
	Source      string `json:"source"` // "" or npm, git, url
	Registry    string `json:"registry"`
}

// Subject names the package at its version, as a Ref does.
func (e External) Subject() string { return "npm:" + e.Name + "@" + e.Version }

// FromNPM reports whether the package is one of npm, as its Subject says.
func (e External) FromNPM() bool { return e.Source == "" || e.Source == "npm" }

// Signature is one signature. TS is the signer's word and proves nothing.
type Signature struct {
	Alg       string `json:"alg"`
	Signature string `json:"signature"` // base64
	KeyID     string `json:"keyId,omitempty"`
	TS        string `json:"ts,omitempty"`
}
