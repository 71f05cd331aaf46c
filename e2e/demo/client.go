package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (d *demo) config(text string) error {
	fmt.Print("hallmark.toml:\n" + indent(text) + "\n")
	return os.WriteFile(filepath.Join(d.dir, "hallmark.toml"), []byte(text), 0o600)
}

func (d *demo) toml(url string) string {
	return fmt.Sprintf(`manifest_version = 1
[registry]
url = %q
log_key = %q
[providers.mcp.airtable]
server = "%s@%s"
variables = [%q]
surface_kinds = ["tools", "prompts"]    # its resources need a real key
`, url, d.logKey, serverName, packageVersion, keyVariable)
}

func (d *demo) pin(ctx context.Context, url string) error {
	d.title("A user pins it by its record: what is fetched is compared with what was published")
	if err := d.config(d.toml(url)); err != nil {
		return err
	}
	out, errs, err := d.hallmark(ctx, 0, "pin", "airtable", "--yes")
	if err != nil {
		return err
	}
	if err := expect(out+errs, serverName, "tool:list_records"); err != nil {
		return err
	}
	_, _, err = d.hallmark(ctx, 0, "check")
	return err
}

// client starts a server under guard with a real MCP client.
func (d *demo) client(ctx context.Context, name string) (*mcp.ClientSession, *bytes.Buffer, error) {
	fmt.Printf("$ hallmark run %s        (started by an MCP client)\n", name)
	cmd := exec.Command(filepath.Join(d.bin, "hallmark"), "run", name)
	cmd.Dir, cmd.Env = d.dir, d.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	c := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1.0.0"}, nil)
	session, err := c.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, &errs, fmt.Errorf("connecting to %s: %w\n%s", name, err, errs.String())
	}
	return session, &errs, nil
}

func tools(ctx context.Context, s *mcp.ClientSession) ([]string, error) {
	var names []string
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	fmt.Printf("  tools/list: %s\n", strings.Join(names, ", "))
	return names, nil
}

func (d *demo) use(ctx context.Context, _ string) error {
	d.title("It runs under guard: node on the verified tree, its tools as approved")
	session, errs, err := d.client(ctx, "airtable")
	if err != nil {
		return err
	}
	names, err := tools(ctx, session)
	if err = errors.Join(err, session.Close()); err != nil {
		return fmt.Errorf("%w\n%s", err, errs)
	}
	if !slices.Contains(names, "list_records") {
		return errors.New("list_records is not among the tools")
	}
	return nil
}
