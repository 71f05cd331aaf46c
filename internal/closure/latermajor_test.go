package closure

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/project"
)

func TestFindLaterMajors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wheel")
	data := forge.Wheel("a-1.0", "a-1.0.dist-info/METADATA", `Metadata-Version: 2.1
Name: a
Version: 1.0
Requires-Dist: mcp[cli]>=1.1.3
Requires-Dist: mcp>=1.2; python_version >= "3.14"
Requires-Dist: HTTP_x (<1,>=0.27)
Requires-Dist: bounded<3,>=1
Requires-Dist: any
Requires-Dist: calendar>=2024.1; python_version > "3.8"
Requires-Dist: tests>=1; extra == 'dev'
Requires-Dist: direct @ git+https://example.com/x

Requires-Dist: said>=1
`)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	pypi := func(name, version string) artifact.Ref {
		ref, err := artifact.NewPyPI(name, version, "")
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	wheel, err := fetch.ReadWheel(path, pypi("a", "1.0"))
	if err != nil {
		t.Fatal(err)
	}
	c := &project.Closure{}
	for name, version := range map[string]string{"mcp": "3.0.1", "http-x": "0.28", "bounded": "2.1", "any": "9", "tests": "9",
		"said": "9", "direct": "9", "calendar": "2025.2"} {
		c.Packages = append(c.Packages, project.ClosurePackage{Ref: pypi(name, version)})
	}
	got := FindLaterMajors(&Packages{Wheel: wheel}, c)
	want := []LaterMajor{{"mcp", ">=1.1.3", "3.0.1", 2}, {"calendar", ">=2024.1", "2025.2", 2025}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := FindLaterMajors(&Packages{}, c); got != nil {
		t.Errorf("of no wheel: %v", got)
	}
}
