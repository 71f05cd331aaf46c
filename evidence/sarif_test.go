package evidence

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/sarifschema"
)

// The log is valid by the schema of SARIF 2.1.0, which knows no other members than its own.
func TestSARIF(t *testing.T) {
	for _, bad := range []string{
		`{"version": "2.1.0", "runs": [], "other": 1}`,
		`{"version": "2.1.0", "runs": [], "$schema": "no address"}`,
		`{"version": "2.2.0", "runs": []}`,
	} {
		if sarifschema.Check([]byte(bad)) == nil {
			t.Errorf("the schema accepts %s", bad)
		}
	}
	if err := sarifschema.Check(
		[]byte(`{"version": "2.1.0", "runs": [], "$schema": "https://example.com/schema"}`)); err != nil {
		t.Fatal(err)
	}
	at := func(file string, line int) Claim {
		return Claim{Subject: "cursor: a\x1b", Scheme: Pin, Authority: Caller, Text: "kagimcp",
			Place: Place{file, line, 5}}
	}
	unpinned := Fact(at(".cursor/mcp json#.json", 4), "")
	unpinned.Rule, unpinned.Fix = "unpinned-launcher", `["kagimcp@<version>"]`
	again := Fact(at("/home/u/.cursor/mcp.json", 9), "")
	again.Rule = "unpinned-launcher"
	windows := Fact(at(`C:\Users\u\mcp.json`, 0), "a tag")
	for name, results := range map[string][]Result{
		"nothing": nil,
		"results": {{unpinned, LevelError}, {again, LevelError}, {windows, LevelWarning},
			{Fact(Claim{Subject: "s", Scheme: Surface}, ""), LevelNote}},
	} {
		data, err := json.Marshal(
			MakeSARIF("1.0.0", map[string]string{"unpinned-launcher": "A package without a version."}, results))
		if err != nil {
			t.Fatal(err)
		}
		if err := sarifschema.Check(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if results == nil {
			continue
		}
		var log SARIF
		if err := json.Unmarshal(data, &log); err != nil {
			t.Fatal(err)
		}
		run := log.Runs[0]
		if len(run.Tool.Driver.Rules) != 3 || run.Results[1].RuleIndex != 0 || run.Results[2].RuleIndex != 1 ||
			run.Tool.Driver.Rules[0].Short.Text != "A package without a version." ||
			run.Results[3].RuleID != "surface-absent" {
			t.Errorf("rules %+v of %+v", run.Tool.Driver.Rules, run.Results)
		}
		for i, want := range []string{".cursor/mcp%20json%23.json", "file:///home/u/.cursor/mcp.json",
			"file:///C:/Users/u/mcp.json"} {
			if got := run.Results[i].Locations[0].Physical.Artifact; got.URI != want || (got.Base == "") != (i > 0) {
				t.Errorf("location %d is %+v, want %s", i, got, want)
			}
		}
		if run.Results[2].Locations[0].Physical.Region != nil || run.Results[0].Locations[0].Physical.Region.Line != 4 {
			t.Error("regions")
		}
		if run.Results[0].Fingerprints["hallmark/v1"] == run.Results[1].Fingerprints["hallmark/v1"] {
			t.Error("two files have one fingerprint")
		}
		if text := run.Results[0].Message.Text; strings.ContainsRune(text, 0x1b) ||
			!strings.Contains(text, "kagimcp@<version>") {
			t.Errorf("message %q", text)
		}
	}
}
