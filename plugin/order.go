package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Order returns the names of plugins such that each comes after those that it depends
// on, and else by name. The error names every cycle and every plugin that is missing.
func Order(plugins []*Manifest) ([]string, error) {
	byName := map[string]*Manifest{}
	var wrong []string
	for _, m := range plugins {
		if byName[m.Name] != nil {
			wrong = append(wrong, fmt.Sprintf("%s is there twice", m.Name))
		}
		byName[m.Name] = m
	}
	const open, done = 1, 2
	state := map[string]int{}
	var order, path []string
	var visit func(name string)
	visit = func(name string) {
		state[name] = open
		path = append(path, name)
		for _, on := range slices.Sorted(slices.Values(byName[name].Dependencies)) {
			switch {
			case byName[on] == nil:
				wrong = append(wrong, fmt.Sprintf("%s depends on %s, which is missing", name, on))
			case state[on] == open:
				cycle := append(slices.Clone(path[slices.Index(path, on):]), on)
				wrong = append(wrong, "dependency cycle: "+strings.Join(cycle, " -> "))
			case state[on] == 0:
				visit(on)
			}
		}
		path = path[:len(path)-1]
		state[name] = done
		order = append(order, name)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if state[name] == 0 {
			visit(name)
		}
	}
	if len(wrong) > 0 {
		return nil, evidence.Errorf(evidence.Validation, "plugins", "",
			fmt.Errorf("no load order: %s", strings.Join(wrong, "; ")))
	}
	return order, nil
}
