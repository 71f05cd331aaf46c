package kind

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestIgnoredLauncherOptions: what only the launcher would follow is named, with what is done in its place.
func TestIgnoredLauncherOptions(t *testing.T) {
	d := Declaration{Server: project.Server{Name: "kagi", Command: "uvx",
		Arguments: []string{"--python", "3.12", "--resolution", "lowest", "-p", "/opt/python", "kagimcp@0.1.5"}}}
	of, report := pypi.request(d)
	if of.python != "3.12" || len(report) != 3 || report[0].Outcome != evidence.Match {
		t.Fatalf("got %v", report)
	}
	e := report[1]
	if e.Outcome != evidence.Absent || e.Subject != "kagi: --resolution lowest" ||
		!strings.Contains(e.Reason, "the interpreter is the first that the package fits") {
		t.Errorf("got %+v", e)
	}
}
