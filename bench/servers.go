package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The official registry, and how it is set up: as its own benchmarks found it to be
// fastest. Neither side checks packages.
const officialModule = "github.com/modelcontextprotocol/registry/cmd/registry@v1.8.7"

var officialSettings = []string{
	"MCP_REGISTRY_PREPARED_LISTING_JSON=true",
	"MCP_REGISTRY_DATABASE_MAX_CONNECTIONS=8",
	"MCP_REGISTRY_DATABASE_MIN_CONNECTIONS=4",
	"MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION=false",
	"MCP_REGISTRY_ENABLE_ANONYMOUS_AUTH=true",
	"MCP_REGISTRY_JWT_PRIVATE_KEY=" + strings.Repeat("b0", 32),
}

// collector gives both sides the same garbage collector.
const collector = "GOGC=400"

// clusterSettings make a database as one in use, with all rows in memory.
var clusterSettings = []string{"shared_buffers=1GB", "effective_cache_size=12GB", "random_page_cost=1.1",
	"max_wal_size=8GB", "max_connections=200"}

// program is our registry's.
func (f *field) program() string { return filepath.Join(f.dir, "hallmark-registry") }

// installOfficial builds the official registry into dir.
func installOfficial(ctx context.Context, dir string) error {
	c := exec.CommandContext(ctx, "go", "install", officialModule)
	c.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("install %s: %w\n%s", officialModule, err, out)
	}
	return nil
}

// ours starts our registry on a database.
func (f *field) ours(ctx context.Context, name, database string, more ...string) (*process, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	argv := append([]string{f.program(), "serve", "--addr", addr, "--data", filepath.Join(f.dir, name+".data"),
		"--db", database, "--validation", "off", "--allow-anonymous"}, more...)
	return launch(ctx, f.dir, name, addr, "/v0/servers?limit=1", []string{collector}, argv...)
}

// official starts the official registry on a database.
func (f *field) official(ctx context.Context, database string) (*process, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	env := append([]string{collector, "MCP_REGISTRY_SERVER_ADDRESS=" + addr, "MCP_REGISTRY_DATABASE_URL=" + database},
		officialSettings...)
	return launch(ctx, f.dir, "official", addr, "/v0/servers?limit=1", env, filepath.Join(f.dir, "registry"))
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
