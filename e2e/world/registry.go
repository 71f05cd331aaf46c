package world

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

var listening = regexp.MustCompile(`registry at (http://[^,\s]+)`)

// Registry is a registry that runs as a process of its own.
type Registry struct {
	URL string
	Cmd *exec.Cmd

	mu  sync.Mutex
	log strings.Builder
}

// Log is what it has printed.
func (p *Registry) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// StartRegistry runs "hallmark-registry serve" with args until the test ends.
func StartRegistry(t *testing.T, args ...string) *Registry {
	t.Helper()
	bin := Build(t, "hallmark-registry")
	p := new(Registry)
	p.Cmd = exec.Command(bin, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	out, err := p.Cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			p.mu.Lock()
			p.log.WriteString(line)
			p.mu.Unlock()
			if m := listening.FindStringSubmatch(line); m != nil {
				ready <- m[1]
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		p.Cmd.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(hang.Long, func() { p.Cmd.Process.Kill() })
		<-ended
		p.Cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("registry:\n%s", p.Log())
		}
	})
	select {
	case p.URL = <-ready:
	case <-ended:
		t.Fatalf("the registry ended:\n%s", p.Log())
	case <-time.After(hang.Long):
		t.Fatal("the registry does not listen")
	}
	return p
}

// Get reads a URL of a registry.
func Get(t *testing.T, url string) (int, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

// LogKey is the key that a registry announces for its log.
func LogKey(t *testing.T, base string) string {
	t.Helper()
	_, body := Get(t, base+"/v0/version")
	var about map[string]any
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&about); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	key, _ := about["log_key"].(string)
	return key
}
