// Package spec holds the machine-readable formats beside this file that programs embed.
package spec

import _ "embed"

// PluginSchema is the JSON Schema (draft 7) of a plugin's manifest, version 2.
//
//go:embed plugin.schema.json
var PluginSchema []byte
