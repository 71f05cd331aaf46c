package userconfig

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// template is a value of a checkout's file that names variables.
type template struct {
	text string
	uses []wire.VariableUse
}

// fill returns the value. It is an error if a person did not agree to a use of a variable that
// is set.
func (t template) fill(env func(string) string, a *wire.Agreement) (string, error) {
	for _, u := range t.uses {
		if env(u.Variable) == "" {
			continue // there is nothing to send
		}
		if err := a.CheckVariable(u); err != nil {
			return "", err
		}
	}
	return expand(t.text, env), nil
}

// variablesIn returns the names of all variables that expand may look up in s.
func variablesIn(s string) []string {
	var names []string
	expand(s, func(name string) string {
		names = append(names, name)
		return ""
	})
	slices.Sort(names)
	return slices.Compact(names)
}
