// Package guardtest starts the servers that tests of the guard need: the test binary itself as one,
// a hostile one that says what a test tells it to, and those of the SDK.
package guardtest

import (
	"os"
	"runtime"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Main runs the tests, or the server that a test started: the test binary is its own server.
func Main(m *testing.M) {
	foreign.EnableKeepers()
	if mode := os.Getenv("GUARD_TEST_SERVER"); mode != "" {
		os.Exit(runServer(mode))
	}
	os.Exit(m.Run())
}

// Admit judges images as a launch does and returns what process.Exec wants.
func Admit(t testing.TB, images ...*process.Image) (policy.Admitted, []process.Subject) {
	t.Helper()
	var (
		report   evidence.Report
		subjects []process.Subject
	)
	for _, m := range images {
		o := m.Observed()
		report = append(report, evidence.Compare(evidence.Claim{
			Subject: m.Path(), Scheme: evidence.File, Authority: evidence.Lock, Want: []digest.Digest{o.SHA256()},
		}, o))
		subjects = append(subjects, process.Subject{Name: m.Path(), Digest: o.SHA256()})
	}
	v := policy.Judge(policy.Launch, policy.Settings{}, report)
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return v.Admitted(), subjects
}

// Open is the image at path, until the test ends.
func Open(t testing.TB, path string) *process.Image {
	t.Helper()
	m, err := process.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// StartSelf starts the test binary as a server of that mode, see Main.
func StartSelf(t testing.TB, mode string, env ...string) *process.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := Open(t, self)
	adm, subjects := Admit(t, m)
	p, err := process.Exec(t.Context(), adm, subjects, process.Command{
		Name: "srv", Exe: m, Args: []string{self},
		// Under -race a program sleeps for a second at its end, longer than it is waited for.
		Env: append(os.Environ(), append(env, "GUARD_TEST_SERVER="+mode, "GORACE=atexit_sleep_ms=10")...),
	})
	if err != nil {
		t.Fatal(err)
	}
	killAtEnd(t, p)
	return p
}

// killAtEnd ends p with the test.
func killAtEnd(t testing.TB, p *process.Process) {
	t.Cleanup(func() {
		select {
		case <-p.Exited():
		default:
			p.Kill()
		}
	})
}

// HeapInUse is how many bytes of the heap are in use after a collection.
func HeapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
