package project

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/surface"
)

// ParseClosure reads what [Closure.Encode] wrote, and nothing else: a member that is another
// one, or spelled in another case, would be read by npm and not here, or here and not by npm.
func ParseClosure(data []byte) (*Closure, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxClosure, Depth: 16}); err != nil {
		return nil, err
	}
	switch engineOf(data) {
	case "":
	case EngineGo:
		return parseModules(data)
	default:
		return parseWheels(data)
	}
	var file packageLock
	if err := surface.Decode(data, &file); err != nil {
		return nil, err
	}
	for at, entry := range file.Packages {
		for name := range entry {
			if !slices.Contains(keptMembers, name) {
				return nil, fmt.Errorf("%s: unknown key %s", surface.Escape(at), surface.Escape(name))
			}
		}
	}
	return file.closure()
}

// Encode is the stored form: JSON with sorted keys, indented, without addresses.
func (c *Closure) Encode() ([]byte, error) {
	switch c.Engine {
	case EngineNPM:
		return c.encode(nil)
	case EngineGo:
		return c.encodeModules()
	}
	return c.encodeWheels()
}

// engineOf tells the stored forms apart; npm's, which npm could read, has none.
func engineOf(data []byte) string {
	var members map[string]json.RawMessage // a struct's would be read in any case
	var engine string
	if json.Unmarshal(data, &members) != nil || json.Unmarshal(members["engine"], &engine) != nil {
		return ""
	}
	return engine
}
