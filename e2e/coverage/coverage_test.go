package coverage

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestReadRequirements(t *testing.T) {
	ids, err := ReadRequirements(strings.NewReader("id\tsection\trequirement\n000-01\tA\tone\n000-02\tA\ttwo\n"))
	if err != nil || !slices.Equal(ids, []string{"000-01", "000-02"}) {
		t.Errorf("got %q, %v", ids, err)
	}
	for _, bad := range []string{
		"",
		"id\tsection\trequirement\n",
		"000-01\tA\n",
		"000-1\tA\tone\n",
		"000-01\tA\t\n",
		"000-01\tA\tone\n000-01\tA\tagain\n",
	} {
		if ids, err := ReadRequirements(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read as %q", bad, ids)
		}
	}
}

func TestReadMap(t *testing.T) {
	m, err := ReadMap([]byte(`{"000-01": ["digest.TestA"], "000-02": ["pending: x"]}`))
	if err != nil || len(m) != 2 || m["000-01"][0] != "digest.TestA" {
		t.Errorf("got %v, %v", m, err)
	}
	for _, bad := range []string{
		``, `[]`, `{`, `{"000-01": "digest.TestA"}`, `{"000-01": ["a"]} {}`, `{"000-01": ["a"]`,
		`{"000-01": ["digest.TestA"], "000-01": ["pending: x"]}`,
	} {
		if m, err := ReadMap([]byte(bad)); err == nil {
			t.Errorf("%s is read as %v", bad, m)
		}
	}
}

func TestCheck(t *testing.T) {
	ids := []string{"000-01", "000-02"}
	exists := func(test Test) error {
		if test.Name != "TestA" {
			return errors.New("no such test")
		}
		return nil
	}
	for _, tt := range []struct {
		m    Map
		want []string // a part of each fault, in order
	}{
		{Map{"000-01": {"digest.TestA"}, "000-02": {"pending: x"}}, nil},
		{Map{"000-01": {"digest.TestA", "pending: x"}, "000-02": {"digest.TestA/sub"}}, nil},
		{Map{"000-01": {"digest.TestA"}}, []string{"000-02: no test"}},
		{Map{"000-01": {"digest.TestA"}, "000-02": {}}, []string{"000-02: no test"}},
		{Map{"000-01": {"pending: x"}, "000-02": {"pending: x"}, "000-03": {"pending: x"}}, []string{"000-03: not in"}},
		{Map{"000-01": {"digest.TestB"}, "000-02": {"pending: x"}}, []string{"000-01: no such test"}},
		{Map{"000-01": {"TestA"}, "000-02": {"pending: x"}}, []string{"000-01: \"TestA\" is not"}},
		{Map{"000-01": {"pending: x", "digest.TestA"}, "000-02": {"pending: "}},
			[]string{"000-01: pending must", "000-02: pending must"}},
		{Map{"000-01": {"digest.TestA", "digest.TestA"}, "000-02": {"pending: x"}},
			[]string{"000-01: digest.TestA is listed twice"}},
	} {
		got := tt.m.Check(ids, exists)
		if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
			t.Errorf("%v: got %q, want %q", tt.m, got, tt.want)
		}
	}
}

func TestCheckRun(t *testing.T) {
	m := Map{
		"000-01": {"digest.TestA", "pending: x"},
		"000-02": {"digest.TestA/sub", "digest.TestB"},
		"000-03": {"digest.TestC"},
		"000-04": {"pending: x"},
	}
	faults := m.CheckRun(map[string]string{"digest.TestA": "pass", "digest.TestA/sub": "skip", "digest.TestB": "fail"})
	want := []string{
		"000-02: digest.TestA/sub was skipped",
		"000-02: digest.TestB failed",
		"000-03: digest.TestC was not run",
	}
	if !slices.EqualFunc(faults, want, func(f Fault, s string) bool { return f.String() == s }) {
		t.Errorf("got %v, want %q", faults, want)
	}
	if n := m.Pending()["x"]; n != 2 {
		t.Errorf("%d rows pending, want 2", n)
	}
}

func TestParseTest(t *testing.T) {
	for s, want := range map[string]Test{
		"digest.TestVectors":             {"digest", "TestVectors", ""},
		"internal/fetch.TestResume/a_b":  {"internal/fetch", "TestResume", "a_b"},
		"cmd/hallmark.TestScripts/v/w.x": {"cmd/hallmark", "TestScripts", "v/w.x"},
		"hallmark.FuzzParse":             {"hallmark", "FuzzParse", ""},
	} {
		got, err := ParseTest(s)
		if err != nil || got != want || got.String() != s {
			t.Errorf("%s: got %+v, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "digest", "digest.Vectors", "../x.TestA", "/digest.TestA", "digest.TestA/",
		"digest.TestA/a b", "a//b.TestA"} {
		if got, err := ParseTest(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
	if got := Name(Module, "TestA"); got != "hallmark.TestA" {
		t.Errorf("the root package's test is %s", got)
	}
	if got := Name(Module+"/internal/fetch", "TestA/b"); got != "internal/fetch.TestA/b" {
		t.Errorf("a package's test is %s", got)
	}
}

func TestExists(t *testing.T) {
	const src = `package digest
func TestA(t *testing.T) { if x { t.Skip("no x") }; t.Run("two words", nil) }
func TestSkipped(t *testing.T) { t.Helper(); t.Skip("later") }
func (s suite) TestMethod(t *testing.T) {}
`
	root := fstest.MapFS{
		"digest/digest.go":                          {Data: []byte("package digest\nfunc TestNotHere() {}")},
		"digest/digest_test.go":                     {Data: []byte(src)},
		"root_test.go":                              {Data: []byte("package hallmark\nfunc FuzzRoot() {}")},
		"cmd/hallmark/main_test.go":                 {Data: []byte("package main\nfunc TestScripts() {}")},
		"cmd/hallmark/testdata/script/verify.txtar": {},
		"cmd/hallmark/testdata/script/notes.txt.md": {},
		"e2e/checkers_test.go":                      {Data: []byte("package e2e\nfunc TestCheckers() {}")},
		"e2e/check_refs.py":                         {},
		"spec/digest.json":                          {Data: []byte(`{"cases":[{"name":"upper case"}]}`)},
	}
	for s, want := range map[string]string{ // "" exists
		"digest.TestA":                       "",
		"digest.TestA/two_words":             "",
		"digest.TestA/upper_case":            "",
		"hallmark.FuzzRoot":                  "",
		"cmd/hallmark.TestScripts/verify":    "",
		"e2e.TestCheckers/check_refs.py":     "",
		"digest.TestA/three":                 `no subtest, testscript, checker or vector "three"`,
		"digest.TestA/two_words/three":       `no subtest, testscript, checker or vector "three"`,
		"digest.TestB":                       "has no such test",
		"digest.TestNotHere":                 "has no such test",
		"digest.TestMethod":                  "has no such test",
		"digest.TestSkipped":                 "always skips",
		"tree.TestA":                         "no tests in package tree",
		"cmd/hallmark.TestScripts/notes":     "no subtest",
		"cmd/hallmark.TestScripts/check":     "no subtest",
		"cmd/hallmark.TestScripts/notes.txt": "no subtest",
	} {
		test, err := ParseTest(s)
		if err != nil {
			t.Fatal(err)
		}
		err = Exists(root, test)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", s, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", s, err, want)
		}
	}
}
