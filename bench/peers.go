package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/e2e/built"
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
	ours, reference, rust string // "" if one is not installed
}

// installEditors builds ours and installs the others into dir, if peers are wanted. If o.rust is not "", it is the
// Rust server's program.
func installEditors(ctx context.Context, dir string, o options) (editors, error) {
	e := editors{dir: dir, ours: filepath.Join(dir, "hashfile-mcp"), rust: o.rust}
	if err := built.Write(e.ours, "cmd/hashfile-mcp"); err != nil || !o.peers {
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
	all := []*editor{{name: oursName, argv: []string{e.ours, "--root", root}, tools: hashfileTools{}}}
	if e.reference != "" {
		all = append(all, &editor{name: referenceName, argv: []string{"node", e.reference, root},
			tools: referenceTools{}})
	}
	if e.rust != "" {
		all = append(all, &editor{name: rustName, argv: []string{e.rust}, roots: true, tools: rustTools{}})
	}
	for _, s := range all {
		s.root, s.home = root, e.dir
	}
	return all
}
