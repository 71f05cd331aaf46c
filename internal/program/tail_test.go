package program

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain lets the test program be what an exec.Cmd of a test starts.
func TestMain(m *testing.M) {
	if os.Getenv("HALLMARK_TEST_FLOOD") != "" {
		line := strings.Repeat("x", 99) + "\n"
		for range 100_000 { // 10 MB
			os.Stdout.WriteString(line)
		}
		os.Stderr.WriteString("npm error code E404\n")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// However much npm says, only the end of it is kept.
func TestTailOfProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "HALLMARK_TEST_FLOOD=1")
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 3 {
		t.Fatal(err)
	}
	if len(out.kept) != tailSize || cap(out.kept) > 64*tailSize {
		t.Errorf("%d bytes are kept, in memory for %d", len(out.kept), cap(out.kept))
	}
	if !bytes.HasSuffix(out.kept, []byte("xx\nnpm error code E404\n")) {
		t.Errorf("the end is %q", out.kept[len(out.kept)-40:])
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		writes []int
		kept   int
	}{
		{[]int{0}, 0},
		{[]int{1, 2}, 3},
		{[]int{tailSize}, tailSize},
		{[]int{tailSize, 1}, tailSize},
		{[]int{tailSize - 1, 2}, tailSize},
		{[]int{tailSize + 1}, tailSize},
		{[]int{10 * tailSize, 3, 10 * tailSize}, tailSize},
	} {
		var all []byte
		var out tail
		for i, n := range c.writes {
			p := make([]byte, n)
			for j := range p {
				p[j] = byte(i*7 + j)
			}
			if got, err := out.Write(p); got != n || err != nil {
				t.Errorf("%v: wrote %d, %v", c.writes, got, err)
			}
			all = append(all, p...)
		}
		if len(out.kept) != c.kept || !bytes.HasSuffix(all, out.kept) {
			t.Errorf("%v: %d bytes are kept, or not the last ones", c.writes, len(out.kept))
		}
	}
}
