package clients

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A client is one row of the table: with it, all of the package knows the client.
func TestAddClient(t *testing.T) {
	before := table
	t.Cleanup(func() { table = before })
	table = append(slices.Clone(table), client{
		id: "acme", name: "Acme",
		servers:  inProjectAndHome(".acme/servers.json", "acmeServers"),
		commands: commandsAt(".acme/hooks.json", "hooks"),
		programs: scripts(".acme/extensions/*"),
		install:  &installation{files: []string{".acme/servers.json"}, key: "acmeServers", entry: jsonEntry("")},

		runsSubstitutions: true,
	})

	if !slices.Contains(Names(), "acme") {
		t.Errorf("%v", Names())
	}
	dir := t.TempDir()
	name := filepath.Join(dir, ".acme", "servers.json")
	f, ok := ServerFile("acme", dir, func(string) bool { return false })
	if !ok || f.Path != name {
		t.Fatalf("%v, %t", f, ok)
	}
	data, _, err := Insert(f, nil, "kagi", "uvx", []string{"$(kagi)"})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"servers.json": string(data), "hooks.json": `{"hooks": [{"command": "x"}]}`, "extensions/a.ts": "",
	} {
		path = filepath.Join(dir, ".acme", filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	files, err := Find(Machine{OS: "linux", Project: dir}, "acme")
	if err != nil || len(files) != 1 || files[0].Path != name {
		t.Errorf("%v, %v", files, err)
	}
	if at := FileAt(name); at.Client != "acme" || at.Root != dir {
		t.Errorf("%+v", at)
	}
	servers, err := Inspect(FileAt(name), data)
	if err != nil || len(servers) != 1 || servers[0].Command != "uvx" {
		t.Fatalf("%v, %v", servers, err)
	}
	if unknown := servers[0].Unknown(); !slices.Equal(unknown, []string{"$(command) in a value"}) {
		t.Errorf("%q", unknown)
	}

	files, unread, err := FindBelow(t.Context(), dir, "acme")
	if err != nil || len(files) != 2 || len(unread) != 1 ||
		unread[0].Why != "is a program that Acme runs when it starts, and is not read" {
		t.Errorf("%v, %v, %v", files, unread, err)
	}
	hooks, err := Commands(FileAt(filepath.Join(dir, ".acme", "hooks.json")), []byte(`{"hooks": [{"command": "x"}]}`))
	if err != nil || len(hooks) != 1 || hooks[0].Text != "x" {
		t.Errorf("%v, %v", hooks, err)
	}
	if holder := OwnerDir(dir, filepath.Join(dir, ".acme")); holder != dir {
		t.Error(holder)
	}
}
