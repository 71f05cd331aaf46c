// Package e2e holds what can only be tested across packages: the layer rule
// (layers_test.go), the map from requirements to the tests that show them
// (coverage.json, package e2e/coverage), the faults that the built program survives
// (fault_test.go; programs npmtest, puppet and client are its outside world, and that
// of the scripts in cmd/hallmark), and the independent checkers of the vectors in
// spec/ (check_*.py, check_*.mjs), which share no code with Hallmark.
package e2e
