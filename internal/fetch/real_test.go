package fetch

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// realClient has the configuration of the user who runs the test.
func realClient(t *testing.T) *Client {
	t.Helper()
	if testing.Short() {
		t.Skip("uses the network")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	config, err := readUserConfig(os.Getenv, ".", home)
	if err != nil {
		t.Fatal(err)
	}
	config.Dir = t.TempDir()
	return newClient(t, config)
}

// TestRealNPM needs the network: it fetches a small package through the user's own
// npm configuration. The digests are those that the registry gave out when the
// version was published, so they are of a source other than this program.
func TestRealNPM(t *testing.T) {
	c := realClient(t)
	ref := mustRef(t, "npm:is-number@7.0.0")
	d, err := c.Fetch(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if len(d.Claims) != 1 || len(d.Unverifiable) != 0 {
		t.Fatalf("claims %+v, %+v", d.Claims, d.Unverifiable)
	}
	if e := evidence.Compare(d.Claims[0], d.Observed); e.Outcome != evidence.Match {
		t.Errorf("evidence %+v", e)
	}
	if d.NPM.Name != "is-number" || d.NPM.Version != "7.0.0" || d.NPM.MCPName != "" {
		t.Errorf("document %+v", d.NPM)
	}
	const want = "sha256:7b75c1057198cf97696909a9bee176c9c5e9bcb5b03bf3ecef2f484defadd51e" // by npm pack and sha256sum
	if d.Observed.SHA256().String() != want || d.Observed.Size != 3730 {
		t.Errorf("%s, %d bytes", d.Observed.SHA256(), d.Observed.Size)
	}

	_, err = c.Fetch(context.Background(), mustRef(t, "npm:is-number@7.0.99999"))
	wantError(t, err, evidence.NotFound, "404")
}

// TestRealPyPI needs the network: two small files through the user's own pip or uv
// configuration. The digests are of what pip downloaded, by sha256sum.
func TestRealPyPI(t *testing.T) {
	c := realClient(t)
	for ref, want := range map[string]string{
		"pypi:iniconfig==2.0.0/iniconfig-2.0.0-py3-none-any.whl": "" +
			"sha256:b6a85871a79d2e3b22d2d1b94ac2824226a63c6b741c88f7ae975f18b6778374",
		"pypi:six==1.16.0/six-1.16.0-py2.py3-none-any.whl": "" +
			"sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254",
	} {
		d, err := c.Fetch(context.Background(), mustRef(t, ref))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if d.Observed.SHA256().String() != want {
			t.Errorf("%s: %s", ref, d.Observed.SHA256())
		}
		if len(d.Claims) != 1 || evidence.Compare(d.Claims[0], d.Observed).Outcome != evidence.Match {
			t.Errorf("%s: claims %+v, %+v", ref, d.Claims, d.Unverifiable)
		}
	}
	files, err := c.Files(context.Background(), mustRef(t, "pypi:INIConfig==2.0"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.String())
	}
	if want := []string{"pypi:INIConfig==2.0/iniconfig-2.0.0-py3-none-any.whl",
		"pypi:INIConfig==2.0/iniconfig-2.0.0.tar.gz"}; !slices.Equal(names, want) {
		t.Errorf("files %v", names)
	}
	_, err = c.Fetch(context.Background(), mustRef(t, "pypi:iniconfig==2.0.0"))
	wantError(t, err, evidence.Ambiguous, "2 files", "iniconfig-2.0.0.tar.gz")
	_, err = c.Fetch(context.Background(), mustRef(t, "pypi:iniconfig==2.0.99999"))
	wantError(t, err, evidence.NotFound, "no files")
}

// TestRealCargo needs the network: a small crate through the user's own cargo
// configuration. The digest is of what cargo downloaded, by sha256sum.
func TestRealCargo(t *testing.T) {
	c := realClient(t)
	d, err := c.Fetch(context.Background(), mustRef(t, "cargo:itoa@1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const want = "sha256:d2f3e61cf687687b30c9e6ddf0fc36cf15f035e66d491e6da968fa49ffa9a378"
	if d.Observed.SHA256().String() != want || d.Observed.Size != 11227 {
		t.Errorf("%s, %d bytes", d.Observed.SHA256(), d.Observed.Size)
	}
	if len(d.Claims) != 1 || evidence.Compare(d.Claims[0], d.Observed).Outcome != evidence.Match {
		t.Errorf("claims %+v, %+v", d.Claims, d.Unverifiable)
	}
	_, err = c.Fetch(context.Background(), mustRef(t, "cargo:itoa@1.0.99999"))
	wantError(t, err, evidence.NotFound, "no such version")
}
