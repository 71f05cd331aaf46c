package pin

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// TestMovedRemote: an entry with a URL that was rewritten, which its client then wrote anew in a layout of its own, is
// given back after the program was moved.
func TestMovedRemote(t *testing.T) {
	w := workspace.Empty(&host.Host{}, t.TempDir())
	f := clients.FileAt(filepath.Join(t.TempDir(), ".cursor", "mcp.json"))
	data := []byte(`{"mcpServers": {"far": {"url": "https://mcp.example.com/mcp"}}}`)
	servers, err := clients.Parse(f, data)
	if err != nil {
		t.Fatal(err)
	}
	data, change, err := clients.RewriteRemote(data, servers[0], "/one/hallmark", w.RunArguments("far"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var layout bytes.Buffer
	originals, err := clients.EncodeOriginals([]clients.Original{{Project: w.Dir, Change: change}})
	if err != nil || json.Indent(&layout, data, "", "  ") != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(f.Path, layout.Bytes())
	write(clients.OriginalsPath(f.Path), originals)
	files, err := moveIn(w, f, []Entry{{File: f.Path, Name: "far"}}, "/two/hallmark")
	if err != nil || len(files) != 2 || !strings.Contains(string(files[0].Data), "/two/hallmark") {
		t.Fatal(files, err)
	}
	write(files[1].Path, files[1].Data)
	kept, err := clients.LoadOriginals(f.Path)
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if back, err := clients.Restore(files[0].Data, kept[0].Change); err != nil ||
		!strings.Contains(string(back), `"url": "https://mcp.example.com/mcp"`) {
		t.Errorf("%s, %v", back, err)
	}
}
