package hallmark

import (
	"context"

	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/scan"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
)

// ScanOptions say what is scanned. The zero value means the user's files of all clients that are
// known, and those of the project in the working directory.
type ScanOptions struct {
	Machine Machine
	Dir     string   // the project; "" is the working directory
	Paths   []string // files and projects' directories, in place of the user's files
	Clients []string // only files of these clients, such as "claude-code"
	Project bool     // only files of the project in Dir, and below it
	Strict  bool     // refuse what a hallmark.toml opts out of
	Program string   // path of this machine's hallmark; "" takes no entry for guarded
}

// Scanned is the result of a scan.
type Scanned struct {
	Files   []string
	Servers []ScannedServer
	Verdict policy.Verdict
}

// A ScannedServer is one server of a client's file. Its text is the file's, but what looks like a
// secret is replaced.
type ScannedServer struct {
	Client    string // "" if the file is of no client that is known
	File      string
	Line      int
	Name      string
	Command   string
	Arguments []string
	URL       string
	Packages  []ScannedPackage // that it runs
	Guarded   bool             // hallmark verifies it and starts it
	Findings  []policy.Finding
}

// A ScannedPackage is a package that a launcher is told to run.
type ScannedPackage struct {
	Ecosystem launcher.Ecosystem
	Name      string
	Spec      string // what stands behind the name; "" if nothing does
	Pinned    bool   // one version or content; its bytes were not looked at
	Locked    bool   // hallmark.lock has its digest
}

// Scan reads the configuration files of MCP clients, and reports servers that are not pinned,
// hidden in a shell line, reached by plain http and so on, each with what to write instead.
// Nothing is started, fetched or changed.
func Scan(ctx context.Context, o ScanOptions) (*Scanned, error) {
	if o.Dir == "" {
		o.Dir = "."
	}
	h, err := o.Machine.open(o.Dir, fetch.Limits{})
	if err != nil {
		return nil, err
	}
	found, err := scan.Scan(ctx, h, scan.Options{
		Clients: o.Clients, Paths: o.Paths, Dir: o.Dir, Home: o.Machine.home(), Project: o.Project, Strict: o.Strict,
		Program: o.Program,
	})
	if err != nil {
		return nil, err
	}
	out := &Scanned{Files: found.Files, Verdict: found.Verdict}
	for _, s := range found.Servers {
		server := ScannedServer{
			Client: s.Client, File: s.File, Line: s.Line, Name: s.Name, Command: s.Command, Arguments: s.Arguments,
			URL:     s.URL,
			Guarded: s.Guarded, Findings: s.Findings,
		}
		for _, p := range s.Packages {
			server.Packages = append(server.Packages, ScannedPackage{p.Ecosystem, p.Name, p.Spec, p.Pinned, p.Locked})
		}
		out.Servers = append(out.Servers, server)
	}
	return out, found.Verdict.Err()
}
