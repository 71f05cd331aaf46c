package removal

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
)

const harmlessFile = "testdata/harmless.json"

// harmless is one row of testdata/harmless.json: what commands may ignore when it is gone, and why.
type harmless struct {
	File     string   // a pattern of paths
	Removed  string   // a pattern of JSON pointers, with / between names and ** for any rest; or "the file", "line 1"
	Commands []string `json:"ignored_by"` // by their names in a world; "all" is each of them
	Why      string   // why nobody gains anything
	used     bool
}

// harmlessTable is testdata/harmless.json. A row that no removal needs is an error in the whole campaign.
type harmlessTable struct {
	mu   sync.Mutex
	rows []*harmless
}

func readHarmless(t *testing.T) *harmlessTable {
	t.Helper()
	data, err := os.ReadFile(harmlessFile)
	if err != nil {
		t.Fatal(err)
	}
	table := &harmlessTable{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&table.rows); err != nil {
		t.Fatalf("%s: %v", harmlessFile, err)
	}
	for _, row := range table.rows {
		if row.File == "" || row.Removed == "" || len(row.Commands) == 0 || len(strings.Fields(row.Why)) < 4 {
			t.Errorf("%s: %q, %q: a row has a file, what is removed, commands and a reason", harmlessFile, row.File,
				row.Removed)
		}
	}
	return table
}

// explains reports whether a row of the table says why a command may pass over a removal.
func (h *harmlessTable) explains(r removal, command string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := false
	for _, row := range h.rows {
		if !matches(row.File, r.file) || !matches(row.Removed, r.pointer()) {
			continue
		}
		for _, name := range row.Commands {
			if name == command {
				row.used, found = true, true
			}
		}
	}
	return found
}

// unused are the rows that no removal needed.
func (h *harmlessTable) unused() (out []string) {
	for _, row := range h.rows {
		if !row.used {
			out = append(out, row.File+" "+row.Removed)
		}
	}
	return out
}

// matches compares names separated by slashes with a pattern: * is one name, ** at the end
// any that follow, none included.
func matches(pattern, name string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(name, "/")
	for i, p := range want {
		if p == "**" && i == len(want)-1 {
			return true
		}
		if i >= len(have) {
			return false
		}
		if p == "**" { // in the middle: any names
			for rest := i; rest <= len(have); rest++ {
				if matches(strings.Join(want[i+1:], "/"), strings.Join(have[rest:], "/")) {
					return true
				}
			}
			return false
		}
		if ok, err := path.Match(p, have[i]); err != nil || !ok {
			return false
		}
	}
	return len(want) == len(have)
}
