package closure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/packagefile"
	"github.com/hallmark-mcp/hallmark/internal/tool"
)

// What npm says of its own code is left out, what it says of the failure stays.
func TestSpoken(t *testing.T) {
	const said = `npm error code ECONNREFUSED
npm error FetchError: request to http://npm.example.com/x failed, reason: connect ECONNREFUSED
npm error     at ClientRequest.emit (node:events:524:28)
npm error     at process.processTicksAndRejections (node:internal/process/task_queues:83:21) {
npm error   code: 'ECONNREFUSED',
npm error }
npm error
npm error 404  'x@1' is not in this registry.
`
	const want = `  npm: npm error code ECONNREFUSED
  npm: npm error FetchError: request to http://npm.example.com/x failed, reason: connect ECONNREFUSED
  npm: npm error 404  'x@1' is not in this registry.
`
	if got := tool.OutputDetail("npm", []byte(said)); got != want {
		t.Errorf("got\n%s", got)
	}
	if unreachableHint([]byte(said)) == "" || unreachableHint([]byte("npm error code E404\n")) != "" {
		t.Error("the hint is not that of an unreachable registry")
	}
}

// No tree is made of wheels of which two install other bytes to one path: no installer is started.
func TestInstallWheelsTogether(t *testing.T) {
	var read []*packagefile.Wheel
	for _, name := range []string{"one", "two"} {
		path := filepath.Join(t.TempDir(), "wheel")
		data := forge.Wheel(name+"-1.0", "m.py", name, name+"-1.0.dist-info/METADATA", "Name: "+name+"\n")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ref, err := artifact.NewPyPI(name, "1.0", name+"-1.0-py3-none-any.whl")
		if err != nil {
			t.Fatal(err)
		}
		w, err := packagefile.ReadWheel(path, ref)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, w)
	}
	err := Python{}.Install(t.Context(), nil, Order{}, &Packages{read: read}, nil)
	if evidence.ClassOf(err) != evidence.Refused || !strings.Contains(err.Error(), `"m.py"`) {
		t.Errorf("got %v", err)
	}
}
