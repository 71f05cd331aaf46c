package hosttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// RecordSeen is what a client finds out about a version: its evidence, judged as at pin.
func RecordSeen(t *testing.T, h *host.Host, rules project.Registry, version string, o trail.Options) (*obtain.Record,
	error) {
	t.Helper()
	w := &workspace.Workspace{Host: h, Config: &project.Config{Registry: rules}}
	r, err := obtain.FetchRecord(t.Context(), w, w.Logs(o), "io.github.acme/notes@"+version)
	if err != nil {
		return nil, err
	}
	return r, policy.Judge(policy.Pin, policy.Settings{}, r.Report).Err()
}

// RefusedWith checks the class of an error and what it says.
func RefusedWith(t *testing.T, err error, class evidence.Class, says ...string) {
	t.Helper()
	if err == nil || evidence.ClassOf(err) != class {
		t.Fatalf("class %v, want %v: %v", evidence.ClassOf(err), class, err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Fatalf("does not say %q:\n%v", s, err)
		}
	}
}

// Monitored runs one round of a monitor.
func Monitored(t *testing.T, r *LoggedRegistry, state string) (*monitor.Result, error) {
	t.Helper()
	return monitor.Monitor(t.Context(), New(t),
		monitor.Options{URL: r.URL, Log: trail.Options{Key: r.Key}, State: state})
}

// Finds checks that a monitor reports what, and names where.
func Finds(t *testing.T, m *monitor.Result, err error, what string, index int64, says ...string) {
	t.Helper()
	if evidence.ClassOf(err) != evidence.Integrity {
		t.Fatalf("class %v: %v, %+v", evidence.ClassOf(err), err, m)
	}
	for _, a := range m.Found {
		if a.What != what || (a.Index == nil) != (index < 0) || a.Index != nil && *a.Index != index {
			continue
		}
		all := fmt.Sprintf("%s %s %s %s %s", a.Subject, a.Path, a.Expected, a.Actual, a.Detail)
		for _, s := range says {
			if !strings.Contains(all, s) {
				t.Errorf("%s: does not say %q: %s", what, s, all)
			}
		}
		return
	}
	t.Fatalf("no %s at entry %d among %+v", what, index, m.Found)
}
