package process_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

// TestLook: a file that is looked at is read once, by whichever link; for one that is started it is read anew.
func TestLook(t *testing.T) {
	const size = 8 << 20
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, bytes.Repeat([]byte("a"), size), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	var seen, none *process.Seen = new(process.Seen), nil
	for _, c := range []struct {
		what  string
		open  process.Opener
		path  string
		algs  []digest.Algorithm
		reads int64
	}{
		{"the first", seen.Look, path, nil, 1}, {"again", seen.Look, path, nil, 0}, {"a link", seen.Look, link, nil, 0},
		{"another algorithm", seen.Look, path, []digest.Algorithm{digest.SHA512}, 1},
		{"that again", seen.Look, path, []digest.Algorithm{digest.SHA512}, 0},
		{"to start it", process.Open, path, nil, 1}, {"without memory", none.Look, path, nil, 1},
		{"of another command", new(process.Seen).Look, path, nil, 1},
	} {
		before := guardtest.BytesRead(t)
		m, err := c.open(c.path, c.algs...)
		if err != nil {
			t.Fatal(err)
		}
		if reads := (guardtest.BytesRead(t) - before) / (size / 2); (reads+1)/2 != c.reads {
			t.Errorf("%s: read %d halves of the file", c.what, reads)
		}
		if m.Chain[0] != c.path || len(m.Observed().Digests) != 1+len(c.algs) || m.Observed().From != m.Path() {
			t.Errorf("%s: %q, %v", c.what, m.Chain, m.Observed())
		}
		m.Close()
	}
}

// TestLookCopiesNothing: a static program that is only compared is read once, and not copied into memory.
func TestLookCopiesNothing(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	before := guardtest.BytesRead(t)
	if _, err := new(process.Seen).Look(program); err != nil {
		t.Fatal(err)
	}
	if read := guardtest.BytesRead(t) - before; read < info.Size() || read > info.Size()*3/2 {
		t.Errorf("of %d bytes it read %d", info.Size(), read)
	}
}

// TestLookChanged: what was changed is read again, though its size and the time of its last write are as before, and
// though another file has its name.
func TestLookChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	var seen process.Seen
	stamp := time.Now().Add(-time.Hour)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(text string) {
		t.Helper()
		m, err := seen.Look(path)
		if err != nil {
			t.Fatal(err)
		}
		if !evidence.Same(m.Observed().SHA256(), digest.FromBytes([]byte(text))) {
			t.Errorf("%s is not what was observed", text)
		}
	}
	write(path, "one")
	expect("one")
	waitForTick(t)
	write(path, "two")
	expect("two")
	write(path+".new", "six")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	expect("six")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seen.Look(path); err == nil {
		t.Error("a file that cannot be executed any more was looked at")
	}
}

// waitForTick returns when the clock of the file system has moved on, by which it stamps changes.
func waitForTick(t *testing.T) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "clock")
	var first time.Time
	for {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = info.ModTime()
		} else if info.ModTime().After(first) {
			return
		}
	}
}
