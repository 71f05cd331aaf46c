package built

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Greeter compiles a program that prints its name and text, without cgo and so static, and returns its path.
func Greeter(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	source := "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(os.Args[0] + \" " + text +
		"\\n\") }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	cmd := exec.Command("go", "build", "-o", out, filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return out
}
