package clients

import (
	"slices"
	"strings"
	"testing"
)

// The name of a program is found below Windows' and other paths alike.
func TestProgramName(t *testing.T) {
	for command, want := range map[string]string{
		"hallmark": "hallmark", "/usr/bin/hallmark": "hallmark", `C:\Bin\Hallmark.EXE`: "hallmark", "npx.cmd": "npx",
		`a/b\npx.ps1`: "npx", "hallmark.exe/": "", "": "", "hallmark.sh": "hallmark.sh",
	} {
		if got := ProgramName(command); got != want {
			t.Errorf("%q is %q, want %q", command, got, want)
		}
	}
}

// Every option that is not known may weaken what is verified, however it is written, and its value is
// not repeated.
func TestRead(t *testing.T) {
	for line, c := range map[string]struct {
		want RunLine
		says string // "" if nothing is wrong
	}{
		"notes":                         {RunLine{Name: "notes"}, ""},
		"notes --require-lock":          {RunLine{Name: "notes"}, ""},
		"--project p notes --log=a":     {RunLine{Name: "notes", Project: "p", Log: "a"}, ""},
		"notes -- --allow-host x notes": {RunLine{Name: "notes", Extra: []string{"--allow-host", "x", "notes"}}, ""},
		"":                              {RunLine{}, "names no server"},
		"-- notes":                      {RunLine{Extra: []string{"notes"}}, "names no server"},
		"notes other":                   {RunLine{Name: "notes"}, "names more than one server"},
		"notes --accept-lock":           {RunLine{Name: "notes"}, `has the option "--accept-lock"`},
		"notes -x":                      {RunLine{Name: "notes"}, `has the option "-x"`},
		"notes --token=s3cret":          {RunLine{Name: "notes"}, `has the option "--token"`},
		"notes --require-lock=false":    {RunLine{Name: "notes"}, `has the option "--require-lock"`},
		"notes --project":               {RunLine{Name: "notes"}, "says --project twice, or without a value"},
		"notes --project=":              {RunLine{Name: "notes"}, "says --project without a value"},
		"notes --log a --log=b":         {RunLine{Name: "notes", Log: "a"}, "says --log twice"},
		"notes --project=p --project q": {RunLine{Name: "notes", Project: "p"}, "says --project twice"},
	} {
		got, problems := ReadRunLine(strings.Fields(line), false)
		said := strings.Join(problems, "; ")
		if strings.Contains(said, "s3cret") || (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: says %q, want %q", line, said, c.says)
		}
		if strings.HasSuffix(line, " q") { // of a repeated option the first value counts, and q is another word
			continue
		}
		if got.Name != c.want.Name || got.Project != c.want.Project || got.Log != c.want.Log ||
			!slices.Equal(got.Extra, c.want.Extra) {
			t.Errorf("%s is %+v, want %+v", line, got, c.want)
		}
	}
}

// A project's entry has only a log of the project written, and no file that something else reads.
func TestSharedLog(t *testing.T) {
	for name, ok := range map[string]bool{
		"calls.jsonl": true, "logs/calls.jsonl": true, "/tmp/calls.jsonl": false, "../calls.jsonl": false,
		"a/../../calls.jsonl": false, ".bashrc": false, ".x.jsonl": false, ".git/calls.jsonl": false,
		"a/.git/calls.jsonl": false, "calls.json": false, "calls.jsonl/x": false,
	} {
		_, shared := ReadRunLine([]string{"notes", "--log", name}, true)
		if _, own := ReadRunLine([]string{"notes", "--log", name}, false); (len(shared) == 0) != ok || len(own) != 0 {
			t.Errorf("%s: in a project's file %q, in the user's own %q", name, shared, own)
		}
	}
}

// An entry is one of Hallmark's only if nothing in it changes what hallmark is, reads or asks.
func TestIsRunEntry(t *testing.T) {
	for name, c := range map[string]struct {
		command, args, variable string
		want                    bool
	}{
		"as written":       {"hallmark", "run notes", "", true},
		"of a project":     {"hallmark", "run notes --project .", "TOKEN", true},
		"by its path":      {"/usr/local/bin/hallmark", "run notes", "", true},
		"of the checkout":  {"./bin/hallmark", "run notes", "", false},
		"another program":  {"/usr/bin/hallmark-x", "run notes", "", false},
		"another command":  {"hallmark", "trust notes", "", false},
		"without one":      {"hallmark", "", "", false},
		"with an option":   {"hallmark", "run notes --accept", "", false},
		"a log elsewhere":  {"hallmark", "run notes --log /etc/x.jsonl", "", false},
		"its state":        {"hallmark", "run notes", "xdg_state_home", false},
		"a proxy":          {"hallmark", "run notes", "https_proxy", false},
		"the loader":       {"hallmark", "run notes", "LD_PRELOAD", false},
		"where to find it": {"hallmark", "run notes", "Path", false},
	} {
		s := Server{Command: c.command, Args: strings.Fields(c.args)}
		if c.variable != "" {
			s.Variables = []string{"OTHER", c.variable}
		}
		if IsRunEntry(s) != c.want {
			t.Errorf("%s: %v is Hallmark's: %v", name, s, !c.want)
		}
	}
}

// Text of others is quoted in ASCII, and cut.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2J\"": `"a\x1b[2J\""`, "é\u202e": `"\u00e9\u202e"`,
		strings.Repeat("x", 80): `"` + strings.Repeat("x", 80) + `"`,
		strings.Repeat("x", 81): `"` + strings.Repeat("x", 80) + `"…`,
	} {
		if got := QuoteText(text); got != want {
			t.Errorf("%q is quoted as %s", text, got)
		}
	}
}
