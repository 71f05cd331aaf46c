//go:build linux

package packages

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// pattern repeats in a large file, which no process of the test holds whole.
var pattern = bytes.Repeat([]byte("hallmark"), 1<<13) // 64 KiB

// large answers with n copies of the pattern, and tells how many are being sent.
func large(n int, sending, most *atomic.Int64) npmtest.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		now := sending.Add(1)
		defer sending.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		w.Header().Set("Content-Length", strconv.Itoa(n*len(pattern)))
		for range n {
			if _, err := w.Write(pattern); err != nil {
				return
			}
		}
	}
}

func patternSum(n int) string {
	hash := sha256.New()
	for range n {
		hash.Write(pattern)
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

// maxResident is what a process had in memory at most, in bytes; 0 if it has ended.
// What the system says of an ended process counts the memory of who started it.
func maxResident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	return 0
}

// TestLargePackages: the author's program and a registry hash files of hundreds of MiB
// in much less memory, several publishes at once, and each is judged by its own file.
func TestLargePackages(t *testing.T) {
	const (
		mib      = 1 << 20 / (64 << 10) // patterns
		size     = 300 * mib
		each     = 40 * mib
		publish  = 8
		resident = 128 << 20
	)
	s := world.NewStage(t, filepath.Dir(world.Build(t, "hallmark")))
	m := &mirror{s, map[string]map[string]any{}, map[string][2]string{}}
	var sending, most atomic.Int64
	add := func(name string, n int, digest string) {
		t.Helper()
		m.NPM.File("/"+name+"/1.0.0",
			fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","mcpName":%q,"dist":{"tarball":"%s/large/%s"}}`, name,
				mirrored, m.NPM.URL, name))
		m.NPM.Break("/large/"+name, npmtest.Always, large(n, &sending, &most))
		m.packages[name] = pkg("npm", name, "1.0.0")
		m.claims[name] = [2]string{"npm:" + name + "@1.0.0", digest}
	}
	add("huge", size, patternSum(size))
	right, wrong := patternSum(each), patternSum(each-1)
	for i := range publish {
		add(fmt.Sprintf("p%d", i), each, []string{right, wrong}[i%2])
	}

	for _, command := range []string{"verify", "hash-gen"} {
		m.write(t, "1.0.0", command == "verify", "huge")
		c := m.Command(t.Context(), "hallmark", command)
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var peak int64
		for n := int64(1); n > 0; time.Sleep(2 * time.Millisecond) {
			n = maxResident(t, c.Process.Pid)
			peak = max(peak, n)
		}
		if err := c.Wait(); err != nil {
			t.Fatalf("%s: %v\n%s%s", command, err, &out, &errs)
		}
		if command == "hash-gen" && !strings.Contains(out.String(), m.claims["huge"][1]) {
			t.Errorf("%s prints %s", command, &out)
		}
		t.Logf("%s of %d MiB had %d MiB resident", command, size/mib, peak>>20)
		if peak == 0 || peak > resident {
			t.Errorf("%s had %d MiB resident, want at most %d", command, peak>>20, resident>>20)
		}
	}

	registry := m.serve(t)
	most.Store(0)
	var all sync.WaitGroup
	start := time.Now()
	for i := range publish {
		doc := m.in(t).write(t, fmt.Sprintf("2.0.%d", i), true, fmt.Sprintf("p%d", i))
		all.Go(func() {
			status, r, body := post(t, registry.URL, doc)
			if want := []int{200, 422}[i%2]; status != want {
				t.Errorf("publish %d: %d %s", i, status, body)
			}
			if d := r.Details[m.claims[fmt.Sprintf("p%d", i)][0]]; i%2 == 1 &&
				(d.Status != "mismatch" || d.Expected != wrong || d.Actual != right) {
				t.Errorf("publish %d: %s", i, body)
			}
		})
	}
	all.Wait()
	t.Logf("%d publishes of %d MiB took %v, %d at once", publish, each/mib, time.Since(start), most.Load())
	if most.Load() < 2 {
		t.Error("only one file was fetched at a time")
	}
	status, _, body := post(t, registry.URL, m.write(t, "3.0.0", true, "huge"))
	if status != 200 {
		t.Errorf("%d %s", status, body)
	}
	peak := maxResident(t, registry.Cmd.Process.Pid)
	t.Logf("the registry had %d MiB resident", peak>>20)
	if peak == 0 || peak > resident {
		t.Errorf("the registry had %d MiB resident, want at most %d", peak>>20, resident>>20)
	}
}
