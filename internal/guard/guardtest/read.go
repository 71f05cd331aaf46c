package guardtest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// BytesRead is how many bytes this process has read so far. It skips the test where the system does not say.
func BytesRead(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("needs /proc/self/io: ", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	n, err := strconv.ParseInt(strings.TrimPrefix(first, "rchar: "), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
