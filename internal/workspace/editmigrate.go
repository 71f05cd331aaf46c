package workspace

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/project"
)

// MigrateConfig rewrites each deprecated checksum as the verify block that it stands for,
// and keeps comments, order and everything else. migrated names the servers; kept those
// whose checksum is ignored because there is a verify block too, for a person to remove.
func MigrateConfig(data []byte) (out []byte, migrated, kept []string, err error) {
	before, all, err := parseConfigParts(data)
	if err != nil {
		return nil, nil, nil, err
	}
	both := map[string]bool{}
	for _, p := range all {
		if isServerKey(p.Path, "verify") {
			both[p.Path[2]] = true
		}
	}
	var edits []tomltext.Edit
	for _, p := range all {
		if !isServerKey(p.Path, "checksum") || len(p.Path) != 4 {
			continue
		}
		name := p.Path[2]
		if both[name] {
			if !slices.Contains(kept, name) {
				kept = append(kept, name)
			}
			continue
		}
		edits = append(edits, tomltext.Replace(p.Name, "verify"))
		if !slices.Contains(migrated, name) {
			migrated = append(migrated, name)
			edits = append(edits, addVerifyType(data, p))
		}
	}
	out = tomltext.Apply(data, edits...)
	after, err := project.ParseConfig(out)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("the checksum is written in a way that cannot be rewritten: %w", err)
	}
	for name, s := range before.Servers {
		if !reflect.DeepEqual(withoutLine(s), withoutLine(after.Servers[name])) {
			return nil, nil, nil, invalidServer(name, ": checksum is written in a way that cannot be rewritten")
		}
	}
	return out, migrated, kept, nil
}

// addVerifyType is the edit that says of a checksum, which is renamed to verify, that it is of the type "command".
func addVerifyType(data []byte, checksum tomltext.Key) tomltext.Edit {
	const line = `type = "command"`
	switch {
	case checksum.Header && checksum.Last:
		return tomltext.Insert(tomltext.LineAfter(data, checksum.Name.End),
			tomltext.Indent(data, checksum.First-1)+line+tomltext.LineEnd(data))
	case checksum.Last:
		return tomltext.Insert(checksum.Value.Start+1, " "+line+",")
	}
	between := tomltext.LineEnd(data) + tomltext.Indent(data, checksum.First)
	if checksum.Inline {
		between = ", "
	}
	return tomltext.Insert(checksum.First, string(data[checksum.First:checksum.Name.Start])+"verify."+line+between)
}
