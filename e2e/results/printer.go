package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hallmark-mcp/hallmark/e2e/coverage"
)

// event is a line of go test -json (go doc test2json); build events carry
// ImportPath instead of Package.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
}

// line is one piece of a test's output.
type line struct{ test, text string }

// printer turns events into the output of go test without -v. It is used by one
// goroutine.
type printer struct {
	out     *bufio.Writer
	results map[string]string // pass, fail or skip by coverage.Name
	reason  map[string]string // last output of a skipped test

	passed, failed, skipped int
	skips                   []string // names, in order

	held     map[string][]line // output of the packages and top-level tests under way, by coverage.Name
	running  map[string]bool   // tests without an outcome yet, by coverage.Name
	failures map[string]int    // failed tests by package
}

func newPrinter(out *bufio.Writer) *printer {
	return &printer{
		out: out, results: map[string]string{}, reason: map[string]string{},
		held: map[string][]line{}, running: map[string]bool{}, failures: map[string]int{},
	}
}

// read prints events until the stream ends. A line that is no event, as a test
// binary's own child may write, is printed as it is. out is flushed after each
// package, so that a long run shows where it is.
func (p *printer) read(events io.Reader) error {
	r := bufio.NewReader(events)
	for {
		text, err := r.ReadString('\n')
		if text != "" {
			var e event
			if json.Unmarshal([]byte(text), &e) == nil && e.Action != "" {
				p.event(e)
			} else {
				fmt.Fprint(p.out, text)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *printer) event(e event) {
	name := coverage.Name(e.Package, e.Test)
	first, _, _ := strings.Cut(e.Test, "/")
	top := coverage.Name(e.Package, first)
	switch e.Action {
	case "build-output":
		fmt.Fprint(p.out, e.Output)
	case "run":
		p.running[name] = true
	case "output":
		if e.Test != "" || e.Output != "PASS\n" {
			p.held[top] = append(p.held[top], line{name, e.Output})
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			p.endPackage(e)
			return
		}
		delete(p.running, name)
		p.count(e.Package, name, e.Action)
		if name == top {
			p.release(top)
		}
	}
}

func (p *printer) count(pkg, name, outcome string) {
	p.results[name] = outcome
	switch outcome {
	case "pass":
		p.passed++
	case "fail":
		p.failed++
		p.failures[pkg]++
	case "skip":
		p.skipped++
		p.skips = append(p.skips, name)
	}
}

// release prints the output of the failed tests among a top-level test and its
// subtests, keeps why the skipped ones were skipped, and drops the rest.
func (p *printer) release(top string) {
	for _, l := range p.held[top] {
		text := strings.TrimSpace(l.text)
		switch {
		case strings.HasPrefix(text, "=== "):
		case p.results[l.test] == "fail":
			fmt.Fprint(p.out, l.text)
		case p.results[l.test] == "skip" && !strings.HasPrefix(text, "--- "):
			p.reason[l.test] = text
		}
	}
	delete(p.held, top)
}

// endPackage settles what a package left open when it ended: tests that were
// under way when the process died have failed.
func (p *printer) endPackage(e event) {
	prefix := coverage.Name(e.Package, "")
	for name := range p.running {
		if strings.HasPrefix(name, prefix) {
			delete(p.running, name)
			p.count(e.Package, name, "fail")
		}
	}
	closing := p.held[prefix] // output of the package itself, "ok" or "FAIL" last
	delete(p.held, prefix)
	for top := range p.held {
		if strings.HasPrefix(top, prefix) {
			p.release(top)
		}
	}
	for _, l := range closing {
		fmt.Fprint(p.out, l.text)
	}
	if e.Action == "fail" && p.failures[e.Package] == 0 {
		p.failed++
	}
	p.out.Flush()
}

// close prints the skipped tests and the closing count, and reports whether the
// run is good.
func (p *printer) close(ci bool) bool {
	mark := "--- SKIP"
	if ci {
		mark = "--- FAIL: CI=true allows no skip"
	}
	for _, name := range p.skips {
		fmt.Fprintf(p.out, "%s: %s: %s\n", mark, name, p.reason[name])
	}
	fmt.Fprintf(p.out, "%d passed, %d failed, %d skipped\n", p.passed, p.failed, p.skipped)
	return p.failed == 0 && (p.skipped == 0 || !ci)
}
