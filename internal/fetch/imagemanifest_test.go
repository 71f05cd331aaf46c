package fetch

import (
	"strings"
	"testing"
)

func TestReadImage(t *testing.T) {
	const d = `"digest": "sha256:f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0", "size": 1`
	const layer = `{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", ` + d + `}`
	const image = `{"schemaVersion": 2, "mediaType": "` + ociImage +
		`", "config": {"mediaType": "application/vnd.oci.image.config.v1+json", ` + d + `}, "layers": [` + layer + `]}`
	const child = `{"mediaType": "` + ociImage + `", ` + d +
		`, "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}}`
	const index = `{"schemaVersion": 2, "mediaType": "` + ociIndex + `", "manifests": [` + child + `, {"mediaType": "` +
		ociImage + `", ` + d + `, "platform": {"os": "unknown", "architecture": "unknown"}}]}`
	if m, err := ReadImage([]byte(image)); err != nil || len(m.Blobs) != 2 || m.Config.IsZero() || m.Children != nil {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := ReadImage([]byte(index)); err != nil || len(m.Children) != 2 || len(m.Platforms) != 1 ||
		m.Platforms["linux/arm64/v8"].IsZero() {
		t.Errorf("%+v, %v", m, err)
	}
	for name, text := range map[string]string{
		"nothing":        `{}`,
		"no JSON":        `x`,
		"an empty index": strings.Replace(index, child+`, `, ``, 1)[:len(ociIndex)+50] + `"manifests": []}`,
		"a layer elsewhere": strings.Replace(image, layer,
			strings.TrimSuffix(layer, "}")+`, "urls": ["https://files.example.com/l"]}`, 1),
		"a sha512": strings.Replace(image, layer, strings.Replace(layer, "sha256:", "sha512:", 1), 1),
		"too many": strings.Replace(image, layer, strings.Repeat(layer+",", maxDescriptors)+layer, 1),
	} {
		if m, err := ReadImage([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
