package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (d *demo) flip(ctx context.Context, _ string) error {
	d.title("One byte of the installed package is flipped in the store: it does not start")
	var file string
	err := filepath.WalkDir(d.home, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "index.js" &&
			strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "content/node_modules/"+packageName+"/dist") {
			file = path
		}
		return err
	})
	if err != nil || file == "" {
		return errors.Join(errors.New("the package is not in the store"), err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	_, errs, err := d.hallmark(ctx, 3, "run", "airtable")
	if err != nil {
		return err
	}
	if err := expect(errs, "node_modules/"+packageName+"/dist/index.js", "mismatch"); err != nil {
		return err
	}
	fmt.Println("\nThe slot is in quarantine. The next start installs it again, from packages that are verified anew:")
	session, stderr, err := d.client(ctx, "airtable")
	if err != nil {
		return err
	}
	_, err = tools(ctx, session)
	if err = errors.Join(err, session.Close()); err != nil {
		return fmt.Errorf("%w\n%s", err, stderr)
	}
	return nil
}

func (d *demo) drift(ctx context.Context, url string) error {
	d.title("A second server, a local command, is pinned (pin starts it as four kinds of clients) and runs")
	if err := os.Link(filepath.Join(d.bin, "drifter"), filepath.Join(d.dir, "drifter")); err != nil {
		return err
	}
	starts := filepath.Join(d.dir, "starts")
	if err := d.config(
		d.toml(url) +
			fmt.Sprintf("[providers.mcp.drifter]\ncommand = \"./drifter\"\narguments = [%q, \"6\"]\n", starts)); err !=
		nil {
		return err
	}
	if _, _, err := d.hallmark(ctx, 0, "pin", "drifter", "--yes"); err != nil {
		return err
	}
	if err := d.drifter(ctx, "add", "echo"); err != nil {
		return err
	}

	d.title("When it is run the second time one tool has another description: that tool is withheld")
	if err := d.drifter(ctx, "echo"); err != nil {
		return err
	}
	_, errs, err := d.hallmark(ctx, 6, "check")
	if err != nil {
		return err
	}
	if err := expect(errs, "drifter: tool:add"); err != nil {
		return err
	}
	_, errs, err = d.hallmark(ctx, 4, "review", "drifter")
	if err != nil {
		return err
	}
	return expect(errs, "description", "IMPORTANT")
}

// drifter runs the second server and demands exactly these tools; echo must work, and
// add must be refused if it is not among them.
func (d *demo) drifter(ctx context.Context, want ...string) error {
	session, errs, err := d.client(ctx, "drifter")
	if err != nil {
		return err
	}
	defer session.Close()
	names, err := tools(ctx, session)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, errs)
	}
	if !slices.Equal(names, want) {
		return fmt.Errorf("the tools are %q, want %q\n%s", names, want, errs)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}})
	if err != nil {
		return err
	}
	fmt.Printf("  tools/call echo: %s\n", result.Content[0].(*mcp.TextContent).Text)
	result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": 2, "b": 3}})
	if slices.Contains(want, "add") {
		if err != nil {
			return err
		}
		fmt.Printf("  tools/call add: %s\n", result.Content[0].(*mcp.TextContent).Text)
		return nil
	}
	if err == nil {
		return errors.New("a withheld tool was called")
	}
	fmt.Printf("  tools/call add: %v\n", err)
	return expect(err.Error(), "hallmark review drifter")
}
