package owed

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// FromMemory returns what is owed if hallmark.toml itself is gone from a project in which this
// machine accepted something: all that it accepted, as one. Removing one declaration is a change that a
// review shows. Removing the file would turn off all its rules at once, so it is refused. forget is the
// command that gives something up, up to what: "hallmark forget ".
func FromMemory(memory *project.Approvals, forget string) List {
	names := memory.Names()
	if len(names) == 0 {
		return nil
	}
	scheme := evidence.Launch
	if len(memory.Servers)+len(memory.Unlocked) == 0 {
		scheme = evidence.Source
	}
	return List{{
		Claim: evidence.Claim{
			Subject: strings.Join(names, ", "), Scheme: scheme, Authority: evidence.Lock, Where: lockFile,
		},
		By: evidence.Machine,
		Why: fmt.Sprintf("this machine approved or installed %s, and %s is gone", evidence.Count(len(names), "entry"),
			configFile),
		Fix: fmt.Sprintf("restore %s and %s from version control; or give up what was accepted with '%s--all'",
			configFile, lockFile, forget),
	}}
}
