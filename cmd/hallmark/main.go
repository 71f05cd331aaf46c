// Hallmark verifies MCP servers from publish to launch.
package main

import (
	"os"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/cli"
)

func main() { os.Exit(app.Main(cli.Hallmark, os.Args[1:])) }
