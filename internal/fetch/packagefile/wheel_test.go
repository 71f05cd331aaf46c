package packagefile

import (
	"archive/zip"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeWheel(t testing.TB, files ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.whl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestReadWheel(t *testing.T) {
	const metadata = "Name: a\n\n<!-- mcp-name: io.github.acme/notes -->\n"
	const entries = "[gui_scripts]\ng = a:g\n; c\n[console_scripts]\n a-b = a.b : main [extra]\nx=a:run.it\n\n" +
		"[other]\ny = z\n"
	w, err := ReadWheel(writeWheel(t, "a/METADATA", "no", "a-1.dist-info/METADATA", metadata,
		"a-1.dist-info/entry_points.txt", entries))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a-b": "a.b:main", "x": "a:run.it"}; !maps.Equal(w.Scripts, want) ||
		w.MCPName != "io.github.acme/notes" {
		t.Errorf("%+v", w)
	}
	for want, files := range map[string][]string{
		"it has no METADATA": {"a/__init__.py", ""},
		"has METADATA twice": {"a-1.dist-info/METADATA", "", "b-1.dist-info/METADATA", ""},
		"entry_points.txt has": {"a-1.dist-info/METADATA", "", "a-1.dist-info/entry_points.txt",
			"[console_scripts]\nx\n"},
		`METADATA" is larger than 4`: {"a-1.dist-info/METADATA", strings.Repeat("a", maxWheelText+1)},
	} {
		if _, err := ReadWheel(writeWheel(t, files...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func FuzzReadWheel(f *testing.F) {
	name := filepath.Join(f.TempDir(), "a-1.0-py3-none-any.whl")
	wheel, err := os.ReadFile(writeWheel(f, "a-1.0.dist-info/METADATA", "Name: a\n\nmcp-name: io.example/a\n",
		"a-1.0.dist-info/entry_points.txt", "[console_scripts]\na = a.main:run [x]\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wheel)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := ReadWheel(name)
		if err != nil {
			return
		}
		for script, target := range w.Scripts {
			if script == "" || strings.ContainsAny(script+target, "\n") {
				t.Errorf("%q = %q", script, target)
			}
		}
	})
}
