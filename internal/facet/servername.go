package facet

import (
	"encoding/json"
	"strings"
)

// MaxEntryName is how long the name of a server's entry may be.
const MaxEntryName = 64

// EntryName is what a server is called in locks, command lines and the files of clients: its name
// in facet.json, or "scope_name" for "@scope/name". No two servers of facets have the same, since
// no part of a name has an underscore.
func EntryName(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "_")
}

// FindServer returns the server whose entry is called entry, and its name in facet.json.
func (m *Manifest) FindServer(entry string) (name string, s Server, ok bool) {
	for name, s := range m.Servers {
		if EntryName(name) == entry {
			return name, s, true
		}
	}
	return "", Server{}, false
}

// checkServerName adds a problem if no server can have a name. A scope is of one that is packed
// from source, which is published under its scope.
func (p *problems) checkServerName(name string, value json.RawMessage, at string) {
	if !strings.HasPrefix(name, "@") {
		p.checkAssetName(name, at)
		return
	}
	switch {
	case !CheckName(name):
		p.add(at, "a name with a scope is @scope/name, each 2 to 64 of [a-z0-9-] that begin and end with a letter "+
			"or digit")
	case kindOf(value) != '"':
		p.add(at, "a name with a scope is of a server that is packed from source, whose value is a version")
	case len(EntryName(name)) > MaxEntryName:
		p.add(at, "scope and name are too long: SCOPE_NAME, as it is called where it is installed, has at most %d "+
			"characters",
			MaxEntryName)
	}
}
