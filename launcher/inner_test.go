package launcher

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestInnerVectors: what a server's arguments may start or fetch is found in whatever wrapper it stands,
// and a value that is only called as a program is not.
func TestInnerVectors(t *testing.T) {
	data, err := os.ReadFile("../spec/launcher.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Inner []struct {
			Command string
			Args    []string
			Inner   string // its words with a blank between each
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil || len(doc.Inner) < 60 {
		t.Fatalf("%d lines, %v", len(doc.Inner), err)
	}
	for _, v := range doc.Inner {
		if got := strings.Join(Parse(v.Command, v.Args).InnerLine(), " "); got != v.Inner {
			t.Errorf("%s %q: got %q, want %q", v.Command, v.Args, got, v.Inner)
		}
	}
	for _, v := range vectors(t) {
		if got := Parse(v.Command, v.Args).InnerLine(); got != nil {
			t.Errorf("%s %q: got %q", v.Command, v.Args, got)
		}
	}
}

// TestInnerLineBounded: a hostile line takes no time that grows with its square.
func TestInnerLineBounded(t *testing.T) {
	args := slices.Repeat([]string{"--x", "node"}, MaxArguments/2-1)
	args = append(args, "--y", strings.Repeat("node ", 1<<13))
	if got := InnerLine(args, true); got != nil {
		t.Errorf("got %d words", len(got))
	}
	if got := InnerLine([]string{"--y", strings.Repeat("docker,", 1<<14)}, false); got != nil {
		t.Errorf("got %d words of a list", len(got))
	}
}

// TestFetchers: which launchers do nothing but fetch and run a package follows from the grammar.
func TestFetchers(t *testing.T) {
	var got []string
	for name, read := range launchers {
		if len(read(name, []word{{text: "name"}}).Packages) > 0 {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if want := []string{"bunx", "dnx", "npx", "pnpx", "pnx", "uvx"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
