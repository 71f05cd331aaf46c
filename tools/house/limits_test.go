package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const tables = `# The house

| package | floor |
|---|---|
| ` + "`good`" + ` | 1 |

| known beyond a limit | how many |
|---|---|
| functions longer than 50 lines | 1 |

| packages | may be below | why |
|---|---|---|
| ` + "`little` `tiny`" + ` | small | two programs share them |
| ` + "`suite`" + ` | small, tests | is a test itself |

The end.
`

func good() []*measures {
	return []*measures{
		{path: "good", lines: 1500, tests: 150,
			findings: map[finding][]string{longFunction: {"f"}, branched: {"g"}, participle: {"h"}}},
		{path: "little", lines: 149, tests: 20}, {path: "tiny", lines: 1, tests: 1}, {path: "suite", lines: 10},
		{path: "edge", lines: 150, tests: 15},
	}
}

func TestWithinLimits(t *testing.T) {
	if err := checkLimits(good(), tables, nil); err != nil {
		t.Error(err)
	}
}

// TestBeyondLimits breaks each limit, and each row that excuses.
func TestBeyondLimits(t *testing.T) {
	for want, change := range map[string]func(all []*measures) []*measures{
		"2 functions longer than 50 lines, where ARCHITECTURE.md knows of 1": func(all []*measures) []*measures {
			return append(all, &measures{path: "x", lines: 200, tests: 20,
				findings: map[finding][]string{longFunction: {"f"}}})
		},
		"1 lines wider than 120 columns": func(all []*measures) []*measures {
			all[4].note(wideLine, "x.go:1")
			return all
		},
		"1 files longer than 800 lines": func(all []*measures) []*measures {
			all[4].note(longFile, "x.go")
			return all
		},
		"edge has 149 lines, fewer than 150":                resize(4, 149, 15),
		"edge has 150 lines and 14 of tests":                resize(4, 150, 14),
		"little has 150 lines, and needs no reason":         resize(1, 150, 15),
		"little has 149 lines and 0 of tests":               resize(1, 149, 0),
		"suite has 10 lines and 5 of tests, and needs no":   resize(3, 10, 5),
		"tiny is in the table of ARCHITECTURE.md and is no": func(all []*measures) []*measures { return append(all[:2], all[3:]...) },
		". has 801 lines, more than 800": func(all []*measures) []*measures {
			return append(all, &measures{path: ".", lines: 801, tests: 100})
		},
	} {
		err := checkLimits(change(good()), tables, nil)
		if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want only %q", err, want)
		}
	}
}

// TestChangedFiles: of many findings those are named that are in files that changed.
func TestChangedFiles(t *testing.T) {
	all := good()
	all[4].note(wideLine, "edge/old.go:1: 121 columns", "edge/new.go:2: 122 columns")
	err := checkLimits(all, tables, map[string]bool{"edge/new.go": true})
	if err == nil || !strings.Contains(err.Error(), "edge/new.go:2") || strings.Contains(err.Error(), "old.go") {
		t.Error(err)
	}
}

func resize(which, lines, tests int) func([]*measures) []*measures {
	return func(all []*measures) []*measures {
		all[which].lines, all[which].tests = lines, tests
		return all
	}
}

// TestBrokenTables: a row that excuses without a reason, or what is no limit, is refused.
func TestBrokenTables(t *testing.T) {
	for from, to := range map[string]string{
		"is a test itself":   "",
		"| small, tests |":   "| large |",
		"`tiny`":             "`suite`",
		"lines | 1 |":        "lines | one |",
		"longer than 50":     "longer than 60",
		"functions longer":   "functions\u00a0longer",
		"| may be below |":   "| may be |",
		"known beyond a":     "beyond a",
		"`little` `tiny`":    "`little`",
		"`little` `tiny` | ": "`little` `tiny` `gone` | ",
	} {
		broken := strings.Replace(tables, from, to, 1)
		if broken == tables || checkLimits(good(), broken, nil) == nil {
			t.Errorf("%q in place of %q is accepted", to, from)
		}
	}
}

// TestMeasuredModule has a module whose package is small, has no test, a long function, a wide line and a long file.
func TestMeasuredModule(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("ARCHITECTURE.md", "")
	write("m.go", "package m\n\nimport _ \"example.com/m/internal/low\"\n"+strings.Repeat("\n", 150))
	write("m_test.go", "package m\n")
	write("testdata/script/a.txtar", strings.Repeat("# a line\n", 20))
	write("internal/low/low.go", "package low\n\nfunc f() {"+strings.Repeat("\n", 50)+"}\n")
	write("high/high.go", "package high\n\nimport _ \"example.com/m\"\n\n//"+strings.Repeat("x", 120)+
		strings.Repeat("\n", 800))
	write("high/high_test.go", "package high\n"+strings.Repeat("\n", 100))
	write("e2e/e2e.go", "package e2e\n")
	err := run(root, true, false, false)
	for _, want := range []string{"1 functions", "1 lines", "1 files", "internal/low has 53 lines, fewer",
		"internal/low has 53 lines and 0 of tests"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err != nil && strings.Count(err.Error(), "\n") != 5 {
		t.Error(err)
	}
	packages, err := loadPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	if n := countFloors(packages); n != 3 {
		t.Errorf("%d floors", n)
	}
	var public []string
	for _, p := range packages {
		if isPublic(p) {
			public = append(public, p.path)
		}
	}
	if len(public) != 1 || public[0] != "high" {
		t.Errorf("public: %q", public)
	}
	if files, tests, err := countRootFiles(root); files != 4 || tests != 1 || err != nil {
		t.Errorf("%d files at the root, %d tests, %v", files, tests, err)
	}
}
