package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/surface"
)

// VerifyType is the tag of a verify block.
type VerifyType string

// The types of a verify block.
const (
	VerifyCommand VerifyType = "command" // the executable that command resolves to
	VerifyFile    VerifyType = "file"    // the named files
	VerifyNone    VerifyType = "none"    // a recorded opt-out
)

// Verify is a [providers.mcp.NAME.verify] table.
type Verify struct {
	Type   VerifyType
	Line   int         // of its table or key in hallmark.toml
	Claims []FileClaim // one with an empty Path for VerifyCommand
	Reason string      // of VerifyNone; may be empty
}

// Algorithms are the algorithms of the claims of v, which may be nil.
func (v *Verify) Algorithms() []digest.Algorithm {
	if v == nil {
		return nil
	}
	var out []digest.Algorithm
	for _, c := range v.Claims {
		out = append(out, c.Want.Algorithm())
	}
	return out
}

// FileClaim is the digest that a file is said to have.
type FileClaim struct {
	Path string // relative to the project
	Want digest.Digest
}

// verifyTOML is the table as TOML holds it. A key that is not there is nil: a stray one is refused, even if empty.
type verifyTOML struct {
	Type      string     `toml:"type"`
	Algorithm *string    `toml:"algorithm"`
	Value     *string    `toml:"value"`
	Path      *string    `toml:"path"`
	Reason    *string    `toml:"reason"`
	Files     []fileTOML `toml:"files"`
}

type fileTOML struct {
	Path  string `toml:"path"`
	Value string `toml:"value"`
}

// errUnfilled is of a value that is left to be filled in.
var errUnfilled = errors.New("has no value; 'hallmark verify-server NAME --write' fills in value = \"\"")

// text is the value of a key, "" if it is not there.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// verify checks the tagged union: a known type, and no key that it does not have.
func (raw verifyTOML) verify() (*Verify, error) {
	v := &Verify{Type: VerifyType(raw.Type), Reason: text(raw.Reason)}
	if err := raw.checkKeys(v.Type); err != nil {
		return nil, err
	}
	algorithm := digest.SHA256
	if raw.Algorithm != nil {
		algorithm = digest.Algorithm(*raw.Algorithm)
	}
	if algorithm != digest.SHA256 && algorithm != digest.SHA1 {
		return nil, fmt.Errorf("algorithm %q is neither sha256 nor sha1", text(raw.Algorithm))
	}
	files := raw.Files
	switch {
	case v.Type == VerifyNone:
		return v, nil
	case v.Type == VerifyCommand:
		files = []fileTOML{{"", text(raw.Value)}}
	case raw.Files != nil && (raw.Path != nil || raw.Value != nil):
		return nil, errors.New("has both path and files")
	case raw.Files == nil:
		files = []fileTOML{{text(raw.Path), text(raw.Value)}}
	case len(raw.Files) == 0:
		return nil, errors.New("files is empty")
	}
	for _, f := range files {
		if f.Path == "" && v.Type == VerifyFile {
			return nil, errors.New(`type "file" needs a path`)
		}
		want, err := digest.ParseHex(algorithm, strings.TrimPrefix(f.Value, string(algorithm)+":"))
		switch {
		case f.Value == "":
			err = errUnfilled
		case err != nil:
			err = fmt.Errorf("%w; with value = \"\" 'hallmark verify-server NAME --write' fills it in", err)
		}
		if err != nil && f.Path != "" {
			err = fmt.Errorf("%s: %w", surface.Escape(f.Path), err)
		}
		if err != nil {
			return nil, err
		}
		v.Claims = append(v.Claims, FileClaim{f.Path, want})
	}
	return v, nil
}

// checkKeys refuses an unknown type of block, and a key that the type does not have.
func (raw verifyTOML) checkKeys(of VerifyType) error {
	keys, known := map[VerifyType][]string{
		VerifyNone: {"reason"}, VerifyCommand: {"algorithm", "value"},
		VerifyFile: {"algorithm", "value", "path", "files"},
	}[of]
	switch {
	case of == "":
		return errors.New(`needs a type: "command", "file" or "none"`)
	case !known:
		return fmt.Errorf(`unknown type %q; it is "command", "file" or "none"`, raw.Type)
	}
	for _, f := range []struct {
		key string
		set bool
	}{
		{"algorithm", raw.Algorithm != nil}, {"value", raw.Value != nil}, {"path", raw.Path != nil},
		{"reason", raw.Reason != nil}, {"files", raw.Files != nil},
	} {
		if f.set && !slices.Contains(keys, f.key) {
			return fmt.Errorf("type %q has no key %q", raw.Type, f.key)
		}
	}
	return nil
}

// LauncherOnly says that a verify block of s would hash its launcher or interpreter and not what that
// runs, and what pins that; "" if the command itself is what runs, or the block is of another type.
func (s Server) LauncherOnly() string {
	if s.Command == "" || s.Verify != nil && s.Verify.Type != VerifyCommand {
		return ""
	}
	t := launcher.Parse(s.Command, s.Arguments)
	name, runs := t.HashedAlone()
	switch {
	case name == "":
		return ""
	case len(t.Packages) == 0 && t.File != "":
		return fmt.Sprintf("it hashes %s, and not %s: 'hallmark pin %s' locks that; so does verify of type \"file\"",
			surface.Escape(name), surface.Escape(runs), s.Name)
	case len(t.Packages) > 0 && !t.Pinned():
		return fmt.Sprintf("it hashes %s, and pins no version of %s: name that in 'arguments', and run 'hallmark "+
			"pin %s'",
			surface.Escape(name), surface.Escape(runs), s.Name)
	}
	return fmt.Sprintf("it hashes %s, and not %s: 'hallmark pin %s' locks that", surface.Escape(name),
		surface.Escape(runs), s.Name)
}
