package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The servers that ours is compared with: the reference filesystem server, which npm
// installs, and the Rust server of the document that ours follows, which cargo does.
const (
	referenceServer = "@modelcontextprotocol/server-filesystem@2026.8.31"
	rustServer      = "hashfile-mcp"
	rustVersion     = "0.3.4"
)

// editors are the programs of editing servers.
type editors struct {
	dir                   string // holds them
	ours, reference, rust string // rust is "" if it is not installed
}

// installEditors builds ours and installs the others into dir. If rust is not "", it is the
// Rust server's program.
func installEditors(ctx context.Context, dir, rust string) (editors, error) {
	e := editors{dir: dir, ours: filepath.Join(dir, "hashfile-mcp"), rust: rust}
	if err := buildEditor(ctx, e.ours); err != nil {
		return e, err
	}
	npm := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir,
		referenceServer)
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return e, fmt.Errorf("install %s: %w\n%s", referenceServer, err, out)
	}
	e.reference = filepath.Join(dir, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
	if e.rust == "" {
		e.rust = installRust(ctx, filepath.Join(dir, "cargo"))
	}
	return e, nil
}

// buildEditor builds our server, as a release does.
func buildEditor(ctx context.Context, to string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", to, "./cmd/hashfile-mcp")
	build.Dir = string(root[:len(root)-1])
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build our server: %w\n%s", err, out)
	}
	return nil
}

// installRust returns the Rust server's program, or "" where cargo is missing or cannot get it.
func installRust(ctx context.Context, root string) string {
	if _, err := exec.LookPath("cargo"); err != nil {
		return ""
	}
	cargo := exec.CommandContext(ctx, "cargo", "install", rustServer, "--root", root, "--version", rustVersion,
		"--locked")
	if out, err := cargo.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s %s is left out: %v\n%.2000s\n", rustServer, rustVersion, err, out)
		return ""
	}
	return filepath.Join(root, "bin", rustServer)
}

// The servers' columns, in the order of tables.
const (
	oursName      = "ours"
	referenceName = "reference"
	rustName      = "hashfile-mcp"
)

// on returns the servers, with root as the directory that they may use.
func (e editors) on(root string) []*editor {
	all := []*editor{
		{name: oursName, argv: []string{e.ours, "--root", root}, tools: hashfileTools{}},
		{name: referenceName, argv: []string{"node", e.reference, root}, tools: referenceTools{}},
	}
	if e.rust != "" {
		all = append(all, &editor{name: rustName, argv: []string{e.rust}, roots: true, tools: rustTools{}})
	}
	for _, s := range all {
		s.root, s.home = root, e.dir
	}
	return all
}
