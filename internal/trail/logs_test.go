package trail_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/project"
)

// A log is read when it is first asked for, anew after an error, and never again after an answer.
func TestLogsOpen(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/problem+json")
		if asked == 1 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer s.Close()
	logs := trail.NewLogs(hosttest.New(t), &client.Client{Base: s.URL}, project.Registry{URL: s.URL}, trail.Options{})
	if asked != 0 {
		t.Fatal("the registry was asked before anybody needed its log")
	}
	if _, first, err := logs.Open(t.Context()); err == nil || first {
		t.Fatalf("first %v, error %v", first, err)
	}
	for _, want := range []bool{true, false} {
		if l, first, err := logs.Open(t.Context()); l != nil || first != want || err != nil {
			t.Fatalf("log %v, first %v, error %v", l, first, err)
		}
	}
	if asked != 2 {
		t.Errorf("the registry was asked %d times", asked)
	}
}

// What this machine knows of logs is read when it is first needed, and once.
func TestLogsKnown(t *testing.T) {
	h := hosttest.New(t)
	logs := trail.NewLogs(h, nil, project.Registry{}, trail.Options{})
	if err := os.MkdirAll(h.Places.State, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.Places.State, "logs.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if known, err := logs.KnowsKey("registry.example.com"); err == nil || known ||
		!strings.Contains(err.Error(), "logs.json") {
		t.Fatalf("known %v, error %v", known, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := logs.ReadKnown(); err == nil {
		t.Error("it was read again")
	}
	if _, err := trail.NewLogs(h, nil, project.Registry{}, trail.Options{}).ReadKnown(); err != nil {
		t.Error(err)
	}
}
