//go:build unix

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// TestFaults runs the built program where the network, the disk or the process itself
// fails. Whatever happens the exit code and the message are those of the design, and
// nothing is left half written.
func TestFaults(t *testing.T) {
	bin := t.TempDir()
	for _, from := range []string{"cmd/hallmark", "e2e/puppet", "e2e/client"} {
		built.Into(t, filepath.Join(bin, filepath.Base(from)), from)
	}
	for name, test := range map[string]func(*testing.T, *stage){
		"transfer":      testTransfers,
		"pin transfer":  testPinTransfer,
		"replaced":      testReplaced,
		"disk full":     testDiskFull,
		"killed":        testKilled,
		"killed npm":    testKilledNPM,
		"two pins":      testTwoPins,
		"run while pin": testRunWhilePin,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newStage(t, bin))
		})
	}
}

// stage is a project with a home and a npm registry of its own, and a server to kill.
type stage struct{ world.Stage }

func newStage(t *testing.T, bin string) *stage {
	t.Helper()
	return &stage{*world.NewStage(t, bin)}
}

// files are all files below dirs with their contents, but for locks, which stay.
func files(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			sum := sha256.Sum256(data)
			all[path] = hex.EncodeToString(sum[:])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// same demands that the files are as they were.
func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, sum := range after {
		if before[path] != sum {
			t.Errorf("%s is new or changed", path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			t.Errorf("%s is gone", path)
		}
	}
}

// empty demands that nothing lies below dir, which may be missing.
func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left in %s", e.Name(), dir)
	}
}
