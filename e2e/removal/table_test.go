package removal

import (
	"os"
	"path"
	"strings"
	"sync"
	"testing"
)

// harmless is one row of the table of what may be removed, in docs/attacks.md.
type harmless struct {
	file, member string // patterns; of member also with / between names, and ** for any rest
	commands     []string
	why          string
	used         bool
}

// harmlessTable is the section "What may be removed" of docs/attacks.md, which says for whom
// it is read: a row that no removal needs is an error in the whole campaign.
type harmlessTable struct {
	mu   sync.Mutex
	rows []*harmless
}

func readHarmless(t *testing.T) *harmlessTable {
	t.Helper()
	data, err := os.ReadFile("../../docs/attacks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(data), "\n## What may be removed\n")
	if !ok {
		t.Fatal("docs/attacks.md has no section of what may be removed")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	table := &harmlessTable{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| `") || len(cells) != 4 {
			continue
		}
		row := &harmless{why: strings.TrimSpace(cells[3])}
		var names []string
		for i, of := range []*string{&row.file, &row.member} {
			*of = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		for name := range strings.SplitSeq(cells[2], ";") {
			names = append(names, strings.TrimSpace(name))
		}
		if row.commands = names; len(strings.Fields(row.why)) < 4 {
			t.Errorf("%s %s: the table does not say why", row.file, row.member)
		}
		table.rows = append(table.rows, row)
	}
	return table
}

// explains reports whether a row of the table says why a command may pass over a removal.
func (h *harmlessTable) explains(r removal, command string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := false
	for _, row := range h.rows {
		if !matches(row.file, r.file) || !matches(row.member, r.pointer()) {
			continue
		}
		for _, name := range row.commands {
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
			out = append(out, row.file+" "+row.member)
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
