package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stream is what go test -json writes for a package with a passing, a failing
// and a skipped test, one that died, one that did not build, and one without tests.
const stream = `{"Action":"start","Package":"example.com/a"}
{"Action":"run","Package":"example.com/a","Test":"TestGood"}
{"Action":"output","Package":"example.com/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"example.com/a","Test":"TestGood","Output":"chatter of a passing test\n"}
{"Action":"pass","Package":"example.com/a","Test":"TestGood"}
{"Action":"run","Package":"example.com/a","Test":"TestBad"}
{"Action":"run","Package":"example.com/a","Test":"TestBad/one"}
{"Action":"output","Package":"example.com/a","Test":"TestBad/one","Output":"=== RUN   TestBad/one\n"}
{"Action":"output","Package":"example.com/a","Test":"TestBad/one","Output":"    a_test.go:7: got 1, want 2\n"}
{"Action":"output","Package":"example.com/a","Test":"TestBad/one","Output":"    --- FAIL: TestBad/one (0.00s)\n"}
{"Action":"fail","Package":"example.com/a","Test":"TestBad/one"}
{"Action":"run","Package":"example.com/a","Test":"TestBad/two"}
{"Action":"output","Package":"example.com/a","Test":"TestBad/two","Output":"chatter of a passing subtest\n"}
{"Action":"pass","Package":"example.com/a","Test":"TestBad/two"}
{"Action":"output","Package":"example.com/a","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"example.com/a","Test":"TestBad"}
{"Action":"run","Package":"example.com/a","Test":"TestAway"}
{"Action":"output","Package":"example.com/a","Test":"TestAway","Output":"    a_test.go:9: no node\n"}
{"Action":"output","Package":"example.com/a","Test":"TestAway","Output":"--- SKIP: TestAway (0.00s)\n"}
{"Action":"skip","Package":"example.com/a","Test":"TestAway"}
{"Action":"output","Package":"example.com/a","Output":"FAIL\n"}
{"Action":"output","Package":"example.com/a","Output":"FAIL\texample.com/a\t0.003s\n"}
{"Action":"fail","Package":"example.com/a"}
{"Action":"run","Package":"example.com/died","Test":"TestExit"}
{"Action":"output","Package":"example.com/died","Test":"TestExit","Output":"last words\n"}
{"Action":"output","Package":"example.com/died","Output":"FAIL\texample.com/died\t0.1s\n"}
{"Action":"fail","Package":"example.com/died"}
{"ImportPath":"example.com/broken","Action":"build-output","Output":"b.go:3:1: syntax error\n"}
{"ImportPath":"example.com/broken","Action":"build-fail"}
{"Action":"output","Package":"example.com/broken","Output":"FAIL\texample.com/broken [build failed]\n"}
{"Action":"fail","Package":"example.com/broken","FailedBuild":"example.com/broken"}
{"Action":"output","Package":"example.com/none","Output":"?   \texample.com/none\t[no test files]\n"}
{"Action":"skip","Package":"example.com/none"}
written past the framing
{"Action":"run","Package":"example.com/ok","Test":"TestFine"}
{"Action":"pass","Package":"example.com/ok","Test":"TestFine"}
{"Action":"output","Package":"example.com/ok","Output":"PASS\n"}
{"Action":"output","Package":"example.com/ok","Output":"ok  \texample.com/ok\t0.002s\n"}
{"Action":"pass","Package":"example.com/ok"}
`

const printed = `    a_test.go:7: got 1, want 2
    --- FAIL: TestBad/one (0.00s)
--- FAIL: TestBad (0.00s)
FAIL
FAIL	example.com/a	0.003s
last words
FAIL	example.com/died	0.1s
b.go:3:1: syntax error
FAIL	example.com/broken [build failed]
?   	example.com/none	[no test files]
written past the framing
ok  	example.com/ok	0.002s
--- SKIP: example.com/a.TestAway: a_test.go:9: no node
3 passed, 4 failed, 1 skipped
`

func TestPrinter(t *testing.T) {
	var got strings.Builder
	p := newPrinter(bufio.NewWriter(&got))
	if err := p.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	if p.close(false) {
		t.Error("a run with failures is called good")
	}
	p.out.Flush()
	if got.String() != printed {
		t.Errorf("got\n%s\nwant\n%s", &got, printed)
	}
}

// TestSkips: one skipped test is good, except where CI=true.
func TestSkips(t *testing.T) {
	for _, ci := range []bool{false, true} {
		var got strings.Builder
		p := newPrinter(bufio.NewWriter(&got))
		if err := p.read(
			strings.NewReader(`{"Action":"skip","Package":"example.com/a","Test":"TestAway"}` + "\n")); err != nil {
			t.Fatal(err)
		}
		if good := p.close(ci); good == ci {
			t.Errorf("CI=%v: a run with a skipped test is good: %v", ci, good)
		}
		p.out.Flush()
		if !strings.HasSuffix(got.String(), "\n0 passed, 0 failed, 1 skipped\n") {
			t.Errorf("CI=%v: got %q", ci, got.String())
		}
	}
}

// TestCover: what coverage.json names and the run did not pass is a failure, once.
func TestCover(t *testing.T) {
	file := filepath.Join(t.TempDir(), "coverage.json")
	content := `{"000-01": ["a.TestGood"], "000-02": ["a.TestAway"], "000-03": ["a.TestGone"], "000-04": ` +
		`["a.TestBad", "pending: x"]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for ci, want := range map[bool]int{false: 1, true: 2} {
		var got strings.Builder
		p := newPrinter(bufio.NewWriter(&got))
		p.results = map[string]string{"a.TestGood": "pass", "a.TestAway": "skip", "a.TestBad": "fail"}
		if err := p.cover(file, ci); err != nil {
			t.Fatal(err)
		}
		p.out.Flush()
		if p.failed != want ||
			!strings.Contains(got.String(), "--- FAIL: coverage of 000-03: a.TestGone was not run\n") ||
			!strings.HasSuffix(got.String(), "coverage: 4 requirements, 1 with something pending\n") {
			t.Errorf("CI=%v: %d failed, want %d:\n%s", ci, p.failed, want, &got)
		}
	}
}
