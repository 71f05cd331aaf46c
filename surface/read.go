package surface

import "fmt"

// Read reads a stored surface: the canonical form of [Surface.Canonical] or
// [Surface.FormatIndented], or another spelling of the same JSON value (white space,
// order of members, escapes). The value itself must be canonical: items sorted,
// all six members there and no others, nothing that New would have written
// otherwise. An error is an [*Error].
func Read(data []byte) (*Surface, error) {
	// A large integer counts as two values here, and the object around the
	// items as two levels.
	p := parser{mode: modeStored, limits: Limits{Depth: MaxDepth + 2, Values: 2*MaxValues + 8}}
	v, err := p.parse(data)
	if err != nil {
		return nil, err
	}
	if v.kind != isObject {
		return nil, newError(ProblemShape, "a surface is an object")
	}
	schema, _ := v.get("schema")
	if schema.kind != isString || schema.text != Schema {
		return nil, newError(ProblemVersion, "the surface's schema is \"%s\", want \"%s\"",
			Escape(clip(schema.text, 60)), Schema)
	}
	var items []Item
	seen := 1
	for i := range v.members {
		m := &v.members[i]
		switch m.name {
		case "schema":
			continue
		case "instructions":
			if m.value.kind != isString {
				return nil, withItem(m.name, newError(ProblemShape, "not a string"))
			}
			if m.value.text != "" {
				items = append(items, InstructionsItem(m.value.text))
			}
			seen++
			continue
		}
		seen++
		read, err := readMember(m, len(items))
		if err != nil {
			return nil, err
		}
		items = append(items, read...)
	}
	if seen != 6 {
		return nil, newError(ProblemShape, "a surface has six members, this one %d", seen)
	}
	return assemble(items)
}

// readMember reads the items of one kind. before is how many of others there are.
func readMember(m *member, before int) ([]Item, *Error) {
	kind := kindOfMember(m.name)
	if kind == "" {
		return nil, newError(ProblemUnknownMember, "a surface has no member \"%s\"", Escape(clip(m.name, 60)))
	}
	if m.value.kind != isArray {
		return nil, withItem(m.name, newError(ProblemShape, "not an array"))
	}
	if len(m.value.list)+before > MaxItems+1 {
		return nil, tooManyItems(len(m.value.list) + before)
	}
	return readItems(kind, m.value.list)
}

func kindOfMember(member string) Kind {
	for _, k := range listedKinds {
		if k.member() == member {
			return k
		}
	}
	return ""
}

func readItems(kind Kind, list []value) ([]Item, *Error) {
	items := make([]Item, 0, len(list))
	for i := range list {
		item, canonical, err := newItem(kind, list[i])
		if err != nil {
			return nil, withItem(fmt.Sprintf("%s[%d]", kind.member(), i), err)
		}
		if !canonical {
			return nil, withItem(item.Key(),
				newError(ProblemNotCanonical,
					"not in canonical form: an empty member is stored, or \"required\" is not sorted"))
		}
		if i > 0 && items[i-1].Name > item.Name {
			return nil, withItem(item.Key(),
				newError(ProblemNotCanonical, "not in canonical form: items are not sorted"))
		}
		items = append(items, item)
	}
	return items, nil
}

// FormatIndented returns the canonical form for review: indented by two spaces, hidden
// characters (those of [FindHidden]) as \u escapes, one newline at the end. [Read]
// accepts it. Where it would be larger than MaxSize, it is the canonical form
// and a newline.
func (s *Surface) FormatIndented() []byte {
	p := parser{mode: modeStored, limits: Limits{Depth: MaxDepth + 2, Values: 2*MaxValues + 8}}
	if v, err := p.parse(s.canonical); err == nil {
		if b := v.indent(nil, 0, MaxSize-1); b != nil && len(b) < MaxSize {
			return append(b, '\n')
		}
	}
	return append(s.Canonical(), '\n')
}
