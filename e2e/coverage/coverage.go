// Package coverage maps requirements to the tests that show them.
//
// spec/requirements.tsv numbers every requirement: a header line, then lines of
// id, section and text with a tab between. e2e/coverage.json is one JSON object
// with a member for each id:
//
//	"000-20": ["digest.TestVectors", "internal/fetch.TestResume/truncated"],
//	"000-31": ["pending: Publisher and registry, complete"]
//
// A test is PACKAGE.TEST[/SUB...]: the package's path in the module ("hallmark"
// for the root), a Test, Fuzz or Example function of it, and a subtest as go test
// prints it; a testscript is the subtest of its file's name without extension. A
// row that is shown in part lists its tests and, last, what is pending.
//
// Two things are checked: that every name exists (Exists, from the sources
// alone), and that every named test passed in a run of go test (Map.CheckRun).
package coverage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Map gives the tests, and at most one "pending: TITLE", of each requirement.
type Map map[string][]string

const pending = "pending: "

var idForm = regexp.MustCompile(`^[0-9]{3}-[0-9]{2}$`)

// ReadRequirements returns the ids of a requirements.tsv in their order.
func ReadRequirements(r io.Reader) ([]string, error) {
	var ids []string
	scan := bufio.NewScanner(r)
	for line := 1; scan.Scan(); line++ {
		fields := strings.Split(scan.Text(), "\t")
		switch {
		case line == 1 && fields[0] == "id":
		case len(fields) != 3 || !idForm.MatchString(fields[0]) || fields[2] == "":
			return nil, fmt.Errorf("requirements.tsv: line %d: not ID, section, requirement", line)
		case slices.Contains(ids, fields[0]):
			return nil, fmt.Errorf("requirements.tsv: line %d: %s occurs twice", line, fields[0])
		default:
			ids = append(ids, fields[0])
		}
	}
	if len(ids) == 0 && scan.Err() == nil {
		return nil, errors.New("requirements.tsv: no requirement")
	}
	return ids, scan.Err()
}

// ReadMap parses a coverage.json. An id given twice is an error: the second
// would silently hide the first.
func ReadMap(data []byte) (Map, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("coverage.json: not a JSON object")
	}
	m := Map{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("coverage.json: %w", err)
		}
		id := key.(string) // the decoder takes only strings here
		if _, twice := m[id]; twice {
			return nil, fmt.Errorf("coverage.json: %s occurs twice", id)
		}
		var entries []string
		if err := dec.Decode(&entries); err != nil {
			return nil, fmt.Errorf("coverage.json: %s: %w", id, err)
		}
		m[id] = entries
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("coverage.json: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("coverage.json: text after the object")
	}
	return m, nil
}

// Check returns one line for each fault of the map against the ids, sorted:
// an id without entry, an unknown id, an entry that is no test. exists says
// whether a test is there; package-level Exists is the one that reads sources.
func (m Map) Check(ids []string, exists func(Test) error) []string {
	var faults []string
	for _, id := range ids {
		if len(m[id]) == 0 {
			faults = append(faults, id+": no test and not pending")
		}
	}
	for id, entries := range m {
		if !slices.Contains(ids, id) {
			faults = append(faults, id+": not in requirements.tsv")
		}
		for i, entry := range entries {
			if title, ok := strings.CutPrefix(entry, pending); ok {
				if strings.TrimSpace(title) == "" || i != len(entries)-1 {
					faults = append(faults, id+": pending must come last and name what it waits for")
				}
				continue
			}
			t, err := ParseTest(entry)
			if err == nil {
				err = exists(t)
			}
			if err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", id, err))
			}
			if slices.Contains(entries[:i], entry) {
				faults = append(faults, fmt.Sprintf("%s: %s is listed twice", id, entry))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// A Fault is a test that the map names and that did not pass in a run. Outcome
// is "fail", "skip", or "" if it was not run.
type Fault struct{ ID, Test, Outcome string }

func (f Fault) String() string {
	outcome := map[string]string{"fail": "failed", "skip": "was skipped"}[f.Outcome]
	if outcome == "" {
		outcome = "was not run"
	}
	return fmt.Sprintf("%s: %s %s", f.ID, f.Test, outcome)
}

// CheckRun returns the faults of a run, by id. results holds what go test said,
// "pass", "fail" or "skip", by the test's name as Name gives it.
func (m Map) CheckRun(results map[string]string) []Fault {
	var faults []Fault
	for _, id := range slices.Sorted(maps.Keys(m)) {
		for _, entry := range m[id] {
			if !strings.HasPrefix(entry, pending) && results[entry] != "pass" {
				faults = append(faults, Fault{id, entry, results[entry]})
			}
		}
	}
	return faults
}

// Pending counts the rows that wait, by what they wait for.
func (m Map) Pending() map[string]int {
	waiting := map[string]int{}
	for entries := range maps.Values(m) {
		for _, entry := range entries {
			if title, ok := strings.CutPrefix(entry, pending); ok {
				waiting[title]++
			}
		}
	}
	return waiting
}
