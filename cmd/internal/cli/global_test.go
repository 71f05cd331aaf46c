package cli

import (
	"encoding/json"
	"testing"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
)

// What a command says names other commands with the flag that says which project is meant, also where that is another
// flag than its own.
func TestCommandsNameProject(t *testing.T) {
	root := app.Definition(Hallmark)
	global := flagNamer(root, []string{"--global", projectFlag("/home/ann/my config")})
	project := flagNamer(root, []string{projectFlag("../my project")})
	for _, c := range []struct {
		name       func(string) string
		said, want string
	}{
		{global, "run 'hallmark install'", "run 'hallmark install --global'"},
		{global, "'hallmark install --force' puts it back", "'hallmark install --global --force' puts it back"},
		{global, "run 'hallmark pin notes'", `run 'hallmark pin --project "/home/ann/my config" notes'`},
		{global, "'hallmark surface show notes'",
			`'hallmark surface show --project "/home/ann/my config" notes'`},
		{global, "'hallmark check --global'", "'hallmark check --global'"},
		{global, "'hallmark store verify'", "'hallmark store verify'"},
		{project, "run 'hallmark review notes' and 'hallmark check'",
			`run 'hallmark review --project "../my project" notes' and ` +
				`'hallmark check --project "../my project"'`},
		{project, "'hallmark config migrate'", `'hallmark config migrate --project "../my project"'`},
		{project, "'hallmark pin --project other'", "'hallmark pin --project other'"},
		{project, "'hallmark add NAME' with the same --git", "'hallmark add NAME' with the same --git"},
	} {
		if got := c.name(c.said); got != c.want {
			t.Errorf("%q: %q, want %q", c.said, got, c.want)
		}
	}
	document, err := json.Marshal(map[string]string{"hint": "run 'hallmark pin notes'"})
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]string
	if err := json.Unmarshal([]byte(project(string(document))), &out); err != nil {
		t.Fatal(err)
	}
	if want := `run 'hallmark pin --project "../my project" notes'`; out["hint"] != want {
		t.Errorf("%q, want %q", out["hint"], want)
	}
}
