package fetch

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
	const entries = "[gui_scripts]\ng = a:g\n; c\n[console_scripts]\n a-b = a.b : main [extra]\nx=a:run.it\n\n[other]\ny = z\n"
	w, err := ReadWheel(writeWheel(t, "a/METADATA", "no", "a-1.dist-info/METADATA", metadata, "a-1.dist-info/entry_points.txt", entries))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a-b": "a.b:main", "x": "a:run.it"}; !maps.Equal(w.Scripts, want) || w.MCPName != "io.github.acme/notes" {
		t.Errorf("%+v", w)
	}
	for want, files := range map[string][]string{
		"it has no METADATA":         {"a/__init__.py", ""},
		"has METADATA twice":         {"a-1.dist-info/METADATA", "", "b-1.dist-info/METADATA", ""},
		"entry_points.txt has":       {"a-1.dist-info/METADATA", "", "a-1.dist-info/entry_points.txt", "[console_scripts]\nx\n"},
		`METADATA" is larger than 4`: {"a-1.dist-info/METADATA", strings.Repeat("a", maxWheelText+1)},
	} {
		if _, err := ReadWheel(writeWheel(t, files...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestReadImage(t *testing.T) {
	const d = `"digest": "sha256:f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0", "size": 1`
	const layer = `{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", ` + d + `}`
	const image = `{"schemaVersion": 2, "mediaType": "` + ociImage + `", "config": {"mediaType": "application/vnd.oci.image.config.v1+json", ` + d + `}, "layers": [` + layer + `]}`
	const child = `{"mediaType": "` + ociImage + `", ` + d + `, "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}}`
	const index = `{"schemaVersion": 2, "mediaType": "` + ociIndex + `", "manifests": [` + child + `, {"mediaType": "` + ociImage + `", ` + d + `, "platform": {"os": "unknown", "architecture": "unknown"}}]}`
	if m, err := ReadImage([]byte(image)); err != nil || len(m.Blobs) != 2 || m.Config.IsZero() || m.Children != nil {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := ReadImage([]byte(index)); err != nil || len(m.Children) != 2 || len(m.Platforms) != 1 || m.Platforms["linux/arm64/v8"].IsZero() {
		t.Errorf("%+v, %v", m, err)
	}
	for name, text := range map[string]string{
		"nothing":           `{}`,
		"no JSON":           `x`,
		"an empty index":    strings.Replace(index, child+`, `, ``, 1)[:len(ociIndex)+50] + `"manifests": []}`,
		"a layer elsewhere": strings.Replace(image, layer, strings.TrimSuffix(layer, "}")+`, "urls": ["https://files.example.com/l"]}`, 1),
		"a sha512":          strings.Replace(image, layer, strings.Replace(layer, "sha256:", "sha512:", 1), 1),
		"too many":          strings.Replace(image, layer, strings.Repeat(layer+",", maxDescriptors)+layer, 1),
	} {
		if m, err := ReadImage([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
