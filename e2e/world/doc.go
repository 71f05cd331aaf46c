// Package world is the outside of Hallmark as the tests in e2e and in the packages below it make it: host names,
// registries as processes, projects with homes of their own, and programs of other authors. What only one of these
// packages needs stands there.
package world
