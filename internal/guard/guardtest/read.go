package guardtest

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// BytesRead is how many bytes this process has read so far. Another system than Linux does not say, and skips the test.
func BytesRead(t testing.TB) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says how much was read")
	}
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	n, err := strconv.ParseInt(strings.TrimPrefix(first, "rchar: "), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
