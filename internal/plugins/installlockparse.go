package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/surface"
)

var sha256Hex = spelling.Form(`^[0-9a-fA-F]{64}$`)

// installMembers are the members of an install.lock.json, and those of its policy.
var installMembers = sync.OnceValues(func() (members, flags []string) {
	names := func(v any) (out []string) {
		var all map[string]json.RawMessage
		data, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(data, &all)
		}
		if err != nil {
			panic(err) // strings, numbers and a time only
		}
		for name := range all {
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	one := "x"
	return names(InstallLock{
		Format: 1, From: InPlace, SourceURL: one, SHA256: one, DistHash: one, Tree: one, Manifest: one,
		Files: one, Signature: one, SignerKeyID: one, Strict: true,
	}), names(plugin.Flags{})
})

// ParseInstallLock reads an install.lock.json. One of this form, which its version says, has
// no other members than those of [Lock]. An older one may have further ones, which
// are not kept. What either owes and lacks is evidence: see [Lock.Evidence].
func ParseInstallLock(data []byte) (*InstallLock, error) {
	bad := func(format string, args ...any) (*InstallLock, error) {
		return nil, fmt.Errorf("%s: %w", plugin.LockFile, fmt.Errorf(format, args...))
	}
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxInstallLock, Depth: 16}); err != nil {
		return bad("%w", err)
	}
	var l InstallLock
	if err := json.Unmarshal(data, &l); err != nil {
		return bad("%w", err)
	}
	switch {
	case l.Name == "" || l.Version == "":
		return bad("name or version is missing")
	case l.Format != 0 && l.Format != installLockVersion:
		return bad("installLockVersion is %d; this build reads %d, and files without one", l.Format, installLockVersion)
	case l.SHA256 != "" && !sha256Hex().MatchString(l.SHA256):
		return bad("sha256 is not 64 hex digits")
	case l.From != "" && !slices.Contains([]InstallOrigin{FromZip, FromDirectory, InPlace}, l.From):
		return bad("from is %+q, and none of zip, directory, in-place", string(l.From))
	}
	if err := l.readMembers(data); err != nil {
		return bad("%w", err)
	}
	return &l, nil
}

// readMembers notes which members the text of a lock has, and which of them are not of this form.
func (l *InstallLock) readMembers(data []byte) error {
	var read, policy map[string]json.RawMessage
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if text := read["policy"]; text != nil {
		if err := json.Unmarshal(text, &policy); err != nil || policy == nil {
			return errors.New("policy is not an object of flags")
		}
	}
	if _, versioned := read["installLockVersion"]; versioned && l.Format == 0 {
		return errors.New("installLockVersion is 0; files without a version have no such member")
	}
	l.members = map[string]bool{}
	members, flags := installMembers()
	for _, of := range []struct {
		prefix string
		read   map[string]json.RawMessage
		known  []string
	}{{"", read, members}, {"policy.", policy, flags}} {
		for name, value := range of.read {
			known := slices.Contains(of.known, name)
			// The decoder takes other capitals for the same member, and other readers do not.
			alike := slices.ContainsFunc(of.known, func(k string) bool { return strings.EqualFold(k, name) })
			if !known && (alike || l.Format != 0) {
				return fmt.Errorf("unknown member %+q", of.prefix+name)
			}
			text := string(value)
			l.members[of.prefix+name] = known && text != "null" && text != `""`
			if !known {
				l.further = append(l.further, of.prefix+name)
			}
		}
	}
	slices.Sort(l.further)
	l.members["installedAt"] = l.members["installedAt"] && !l.InstalledAt.IsZero()
	return l.readDemands(read)
}

// readDemands takes over what an older lock demands under other names.
func (l *InstallLock) readDemands(read map[string]json.RawMessage) error {
	for name, demand := range map[string]*bool{
		"strictCapabilities": &l.demands.StrictCapabilities, "requireSignature": &l.demands.RequireSignatures,
	} {
		switch string(read[name]) {
		case "true":
			*demand = true
		case "", "null", "false":
		default:
			return fmt.Errorf("%s is neither true nor false", name) // what demands something is not passed over
		}
	}
	return nil
}

// hostForm reports whether the lock is one that a host program wrote when it loaded the plugin: it may lack
// the counts and flags that the guide's form has.
func (l *InstallLock) hostForm() bool {
	return l.Format == 0 && (slices.Contains(l.further, "signatureVerified") ||
		slices.Contains(l.further, "lockVersion"))
}
