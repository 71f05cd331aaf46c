package fetch

import (
	"context"
	"os"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestRealNPM needs the network: it fetches a small package through the user's own
// npm configuration. The digests are those that the registry gave out when the
// version was published, so they are of a source other than this program.
func TestRealNPM(t *testing.T) {
	if testing.Short() {
		t.Skip("uses the network")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	config, err := UserConfig(os.Getenv, ".", home)
	if err != nil {
		t.Fatal(err)
	}
	config.Dir = t.TempDir()
	c := newClient(t, config)
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
