package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/scan"
)

// A hook names what is withheld and what is not approved, and nothing that stands as it stood.
func TestWriteHook(t *testing.T) {
	runs := &scan.Runs{Project: "/p", Name: "say", Ref: "npm:say@1.0.0"}
	withheld := scan.Server{Client: "cursor", Name: "say", State: scan.StateGuarded, Runs: runs, Command: "hallmark",
		Withheld: &scan.Withheld{Since: time.Unix(0, 0), Items: []string{"tool:say"}}}
	unapproved := scan.Server{Client: "zed", Name: "new\x1b", State: scan.StateUnapproved, Runs: runs}
	open := scan.Server{Client: "zed", Name: "open", State: scan.StateOpen, Command: "npx", User: true}
	var b strings.Builder
	if err := writeHook(&b, []scan.Server{open}); err != nil || b.Len() > 0 {
		t.Errorf("%q, %v", b.String(), err)
	}
	if err := writeHook(&b, []scan.Server{withheld, unapproved, open}); err != nil {
		t.Fatal(err)
	}
	var said map[string]string
	if err := json.Unmarshal([]byte(b.String()), &said); err != nil || len(said) != 1 {
		t.Fatalf("%q, %v", b.String(), err)
	}
	want := []string{"Hallmark: say (Cursor): withheld: 1 item changed, seen ", "new", " (Zed): not approved: npm:say@1.0.0",
		"Look at what changed: 'hallmark review say --project /p'"}
	for _, text := range want {
		if !strings.Contains(said["systemMessage"], text) || strings.Contains(said["systemMessage"], "\x1b") {
			t.Errorf("%q does not say %q", said["systemMessage"], text)
		}
	}
}

// TestClientPlugin: what npm/clients puts into clients is what they read, and each of its command lines is one of ours.
func TestClientPlugin(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "npm", "clients")
	commands := map[string]bool{}
	line := regexp.MustCompile("hallmark [a-z]+(?: --?[a-z-]+)*")
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "README.md" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case d.Name() == "tasks.json":
			if _, err := clients.JSON.Parse(data, false); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		case filepath.Ext(path) == ".json" && !json.Valid(data):
			t.Errorf("%s is no JSON", path)
		}
		if strings.Contains(path, ".claude-plugin") { // which describe, and start nothing
			return nil
		}
		for _, found := range line.FindAllString(string(data), -1) {
			commands[found] = true
		}
		return nil
	})
	if err != nil || len(commands) < 5 {
		t.Fatalf("%v, %v", commands, err)
	}
	for text := range commands {
		root := app.Definition(Hallmark)
		c, rest, err := root.Find(strings.Fields(text)[1:])
		if err != nil || c == root {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := c.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
