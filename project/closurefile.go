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
	stored := engineOf(data)
	i := slices.IndexFunc(closureForms, func(f closureForm) bool { return f.stored == stored })
	if i < 0 {
		return nil, fmt.Errorf("unknown engine %+q", stored)
	}
	return closureForms[i].parse(data)
}

// closureForm is how the closures of an engine are stored.
type closureForm struct {
	engine string
	stored string // what the file says that its engine is
	parse  func([]byte) (*Closure, error)
	encode func(*Closure) ([]byte, error)
}

// closureForms has the forms of all engines. A package-lock, which npm reads too, says nothing of its engine.
var closureForms = []closureForm{
	{engine: EngineNPM, parse: parsePackages, encode: (*Closure).encodePackages},
	{EngineUV, EngineUV, parseWheels, (*Closure).encodeWheels},
	{EnginePip, EnginePip, parseWheels, (*Closure).encodeWheels},
	{EngineGo, EngineGo, parseModules, (*Closure).encodeModules},
}

// Encode is the stored form: JSON with sorted keys, indented, without addresses.
func (c *Closure) Encode() ([]byte, error) {
	i := slices.IndexFunc(closureForms, func(f closureForm) bool { return f.engine == c.Engine })
	if i < 0 {
		return nil, fmt.Errorf("unknown engine %+q", c.Engine)
	}
	return closureForms[i].encode(c)
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
