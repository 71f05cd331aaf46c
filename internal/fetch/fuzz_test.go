package fetch

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// FuzzAnswers: whatever a registry answers is an error, or of the package that was asked for.
func FuzzAnswers(f *testing.F) {
	from, err := url.Parse("https://registry.example.com/a/")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"name":"a","version":"1.0.0","mcpName":"io.example/a",` +
		`"dist":{"tarball":"https://npm.example.com/a.tgz","integrity":"sha512-AAAA","shasum":"00"}}`))
	f.Add([]byte(`{"meta":{"api-version":"1.1"},"files":[{"filename":"a-1.0.zip","url":"../a-1.0.zip",` +
		`"hashes":{"sha256":"00"},"yanked":"old"}]}`))
	f.Add([]byte(`{"info":{"name":"a","version":"1.0"},"urls":[{"filename":"a-1.0.zip","url":"https://x",` +
		`"digests":{"sha256":"00"}}]}`))
	f.Add([]byte(`[{"a":null},[],1e400]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, _, err := parseNPMVersion(data, "a", "1.0.0"); err == nil && (v.Name != "a" || v.Version != "1.0.0") {
			t.Errorf("of %q %q", v.Name, v.Version)
		}
		files, err := parseSimpleJSON(data, from)
		if err == nil {
			for _, file := range files {
				if file.url == nil || file.name == "" {
					t.Errorf("%+v", file)
				}
			}
		}
		doc := parseObject(data) // of PyPI, NuGet, GitHub and crates
		for _, entry := range append(doc.list("urls"), doc.list("resources")...) {
			entry.object("digests").texts()
			entry.text("url")
			entry.isTrue("yanked")
		}
	})
}

func FuzzReadImage(f *testing.F) {
	const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json",` +
		`"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,"digest":"` + digest +
		`","platform":{"os":"linux","architecture":"arm64","variant":"v8"}}]}`))
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":1,"digest":"` + digest +
		`"},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","size":1,"digest":"` + digest +
		`"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadImage(data)
		if err != nil {
			return
		}
		for _, d := range append(m.Children, m.Blobs...) {
			if d.IsZero() {
				t.Errorf("%+v", m)
			}
		}
		for platform, d := range m.Platforms {
			if d.IsZero() {
				t.Errorf("%s has no digest", platform)
			}
		}
	})
}

func FuzzCredentials(f *testing.F) {
	name := filepath.Join(f.TempDir(), "credentials.toml")
	f.Add([]byte("[[credential]]\nhost = \"npm.example.com:8443\"\nnamespaces = [\"com.example\"]\nusername = \"u\"\n" +
		"password = \"p\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := ReadCredentials(name, func(string) string { return "v" })
		if err != nil {
			return
		}
		for _, k := range all {
			if h, err := k.header(); err != nil || h == "" || k.Host == "" || len(k.Namespaces) == 0 {
				t.Errorf("%q %v: %v", k.Host, k.Namespaces, err)
			}
		}
	})
}
