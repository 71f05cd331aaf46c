package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// A form is what a JSON value must be. It adds to p what the value at the JSON pointer at
// is not. Values have the types of encoding/json, with numbers as json.Number.
type form func(p *problems, at string, v any)

// typeOf is the JSON type of a value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// hasType reports whether v is of type T, which is called name, and says so if it is not.
func hasType[T any](p *problems, at, name string, v any) (T, bool) {
	t, ok := v.(T)
	if !ok {
		p.add(at, "is %s, and must be %s", typeOf(v), name)
	}
	return t, ok
}

func boolean(p *problems, at string, v any) { hasType[bool](p, at, "boolean", v) }

// text is a string of low to high characters that also has the other forms.
func text(low, high int, also ...form) form {
	return func(p *problems, at string, v any) {
		s, ok := hasType[string](p, at, "string", v)
		if !ok {
			return
		}
		switch n := utf8.RuneCountInString(s); {
		case n < low:
			p.add(at, "has %d characters, and must have at least %d", n, low)
		case n > high:
			p.add(at, "has %d characters; the limit is %d", n, high)
		}
		for _, f := range also {
			f(p, at, v)
		}
	}
}

// like is a string that matches a pattern; otherwise says in words what is wrong with a string
// that does not match.
func like(pattern, otherwise string) form {
	re := spelling.Form(pattern)
	return func(p *problems, at string, v any) {
		if s, ok := v.(string); ok && !re().MatchString(s) {
			p.add(at, "%+q %s", clip(s), otherwise)
		}
	}
}

// clean is a relative path in which no segment is empty or "..".
func clean(p *problems, at string, v any) {
	s, _ := v.(string)
	for i, segment := range strings.Split(s, "/") {
		if segment == ".." || segment == "" && (i > 0 || s != "") || strings.Contains(segment, `\`) {
			p.add(at, "must be a clean relative path without \"..\"")
			return
		}
	}
}

// word is one of some strings.
func word(words ...string) form {
	return func(p *problems, at string, v any) {
		if s, ok := v.(string); !ok || !slices.Contains(words, s) {
			p.add(at, "must be one of %s", strings.Join(words, ", "))
		}
	}
}

// whole is an integer from low to high, which may be written 2.0 or 2e0.
func whole(low, high int64) form {
	return func(p *problems, at string, v any) {
		n, ok := hasType[json.Number](p, at, "integer", v)
		if !ok {
			return
		}
		f, err := n.Float64()
		if err != nil || f < float64(low) || f > float64(high) {
			p.add(at, "is %s, and must be %d to %d", clip(n.String()), low, high)
		} else if r, ok := new(big.Rat).SetString(n.String()); !ok || !r.IsInt() { // refuses exponents beyond ±10^6
			p.add(at, "is number, and must be integer")
		}
	}
}

// array has at most limit elements, each of a form.
func array(limit int, each form) form {
	return func(p *problems, at string, v any) {
		all, ok := hasType[[]any](p, at, "array", v)
		if len(all) > limit {
			p.add(at, "has %d elements; the limit is %d", len(all), limit)
		}
		for i := 0; ok && i < len(all); i++ {
			each(p, at+"/"+strconv.Itoa(i), all[i])
		}
	}
}

// unique is an array in which nothing is there twice.
func unique(f form) form {
	return func(p *problems, at string, v any) {
		f(p, at, v)
		all, _ := v.([]any)
		seen := map[string]bool{}
		for _, e := range all {
			raw, err := json.Marshal(e) // the members of an object in one order
			if err != nil {
				continue
			}
			if seen[string(raw)] {
				p.add(at, "%s is there twice", clip(string(raw)))
				return
			}
			seen[string(raw)] = true
		}
	}
}

// object is an object with members of the given forms and no others. A name that ends in
// "!" must be there.
func object(members map[string]form) form {
	names := slices.Sorted(maps.Keys(members))
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, "!")
	}
	return fields(members, func(p *problems, at, name string) {
		if meant := findMisspelled(name, names); meant != "" {
			p.add(at, "unknown member %+q; write %q", clip(name), meant)
		} else {
			p.add(at, "unknown member %+q", clip(name))
		}
	})
}

// openObject is object that may have other members too.
func openObject(members map[string]form) form {
	return fields(members, func(*problems, string, string) {})
}

// fields is an object with members of the given forms; other is called with the name of
// each other member.
func fields(members map[string]form, other func(p *problems, at, name string)) form {
	forms, needed := map[string]form{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		plain, must := strings.CutSuffix(name, "!")
		forms[plain] = members[name]
		if must {
			needed = append(needed, plain)
		}
	}
	return func(p *problems, at string, v any) {
		o, ok := hasType[map[string]any](p, at, "object", v)
		if !ok {
			return
		}
		for _, name := range needed {
			if _, there := o[name]; !there {
				p.add(at+"/"+name, "is missing")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if f, known := forms[name]; known {
				f(p, at+"/"+surface.PointerToken(name), o[name])
			} else {
				other(p, at, name)
			}
		}
	}
}

// namedMembers returns an object of at most limit members with any names, all of one form.
func namedMembers(limit int, each form) form {
	return func(p *problems, at string, v any) {
		o, _ := hasType[map[string]any](p, at, "object", v)
		if len(o) > limit {
			p.add(at, "has %d members; the limit is %d", len(o), limit)
		}
		for _, name := range slices.Sorted(maps.Keys(o)) {
			each(p, at+"/"+surface.PointerToken(name), o[name])
		}
	}
}

// problems gathers what is wrong with a document.
type problems struct{ issues []Issue }

func (p *problems) add(at, format string, args ...any) {
	if len(p.issues) < maxIssues {
		p.issues = append(p.issues, Issue{at, fmt.Sprintf(format, args...)})
	}
}
