// Package project reads and writes the files that a project keeps: hallmark.toml,
// which people write, and hallmark.lock, which records what was accepted; and the
// approvals of its entries, which this machine keeps ([Approvals]). It holds codecs only;
// the flows decide what is written.
//
// # hallmark.toml
//
//	manifest_version = 1
//	[registry]
//	url = "https://registry.example.com"
//	log_key = "registry.example.com+…"     # whose log the registry's is; without it, as first seen
//	witnesses = ["witness.example.org+…"]   # who may vouch for the log
//	witness_quorum = 1                      # how many must; default 0
//	max_age = "72h"                         # how old their word may be; default: any age
//	[facets]
//	"acme-review" = "1.*"                     # 1.2.3, 1.2.*, 1.*, * or latest
//	"kit" = { git = "https://git.example.com/kit.git", tag = "v1.2.0" }  # or branch, or commit; sub = "dir"
//	"ours" = { path = "../ours" }
//	[adapters]
//	targets = ["claude-code", "dir:tools"]    # default: those found in the project
//	[providers.mcp.notes]
//	type = "stdio"                     # the default
//	command = "npx"
//	arguments = ["-y", "@acme/notes@1.4.0"]
//	variables = ["NOTES_KEY"]          # names copied from the environment
//	on_drift = "withhold"              # "withhold" | "block" | "warn"
//	server_requests = "allow"          # sampling, elicitation and roots: "allow" | "log" | "deny"
//	surface_kinds = ["tools", "prompts"]  # default: all; leaves out what is dynamic by nature
//	unlocked = true                    # it needs no entry in hallmark.lock: shown as waived wherever it is used
//	startup_timeout_secs = 120         # how long it may take to show its surface; default: 60
//	extra_arguments = "any"            # arguments after 'run NAME --' need no approval; default: they do
//	tree = "server"                    # of a script: the directory that is hashed with it, every file
//	data = ["server/notes.db"]         # what in that directory the server itself writes
//	[providers.mcp.notes.verify]
//	type = "command"                   # "command" | "file" | "none"
//	algorithm = "sha256"
//	value = "…"
//
//	[providers.mcp.tickets]
//	type = "http"                      # streamable HTTP
//	url = "https://mcp.example.com/mcp"
//	headers = { Authorization = "Bearer ${TICKETS_TOKEN}" }  # sent to that URL only
//
// In place of command a server may name its record: server = "io.github.acme/notes@1.4.0";
// or a server that its registry has as an archive, and the lowest version of it:
// source = "@acme/notes@1.4.0"; or the facet that declares it, to say more about it:
// facet = "acme-review".
// Unknown keys, unknown types and keys that a type does not have are errors that name
// the line. A manifest_version other than 1 is an error.
package project

import "github.com/hallmark-mcp/hallmark/evidence"

// Names of the files, in the project's directory.
const (
	ConfigFile  = "hallmark.toml"
	LockFile    = "hallmark.lock"
	SurfacesDir = "hallmark.surfaces" // NAME.json: a server's canonical surface
	ClosuresDir = "hallmark.closures" // NAME.json: a server's resolved package lock
)

// EmptyConfig is a hallmark.toml that declares nothing.
const EmptyConfig = "manifest_version = 1\n"

// MaxConfig bounds hallmark.toml, in bytes.
const MaxConfig = 1 << 20

// invalid is an error of the class validation about a file or a name.
func invalid(subject string, err error) error {
	return &evidence.Error{Subject: subject, Kind: evidence.Validation, Err: err}
}
