package installed

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// builtin are the commands that a client has itself and that a person starts by the same sign as those of a project, as
// its documentation listed them in November 2026. It decides nothing: what the client does with two of one name is its
// own matter.
var builtin = map[string][]string{
	claudeCode.Name: {
		"add-dir", "agents", "bashes", "bug", "clear", "compact", "config", "context", "cost", "doctor",
		"exit", "export", "help",
		"hooks", "ide", "init", "login", "logout", "mcp", "memory", "model", "output-style", "permissions", "plan",
		"plugin",
		"pr-comments", "release-notes", "rename", "resume", "review", "rewind", "sandbox", "security-review", "skills",
		"stats", "status", "statusline", "tasks", "terminal-setup", "theme", "todos", "usage", "vim",
	},
	gemini.Name: {
		"about", "agents", "auth", "bug", "chat", "clear", "commands", "compress", "copy", "directory", "docs",
		"editor",
		"extensions", "help", "hooks", "ide", "init", "mcp", "memory", "model", "plan", "policies", "privacy", "quit",
		"restore", "resume", "rewind", "settings", "shells", "skills", "stats", "theme", "tools", "vim",
	},
	opencode.Name: {
		"compact", "connect", "details", "editor", "exit", "export", "help", "init", "models", "new", "redo", "review",
		"sessions", "share", "themes", "thinking", "undo", "unshare",
	},
}

// Shadows says that the client has a command of its own that is called as a deliverable is; "" if it has none.
func (t Target) Shadows(d facet.Deliverable) string {
	skillsToo := t.Name == claudeCode.Name // which starts both by a slash
	if d.Kind != facet.KindCommand && (d.Kind != facet.KindSkill || !skillsToo) ||
		!slices.Contains(builtin[t.Name], d.Name) {
		return ""
	}
	return "is called as a command of the client's own, /" + d.Name + "; 'hallmark add --prefix' gives it another name"
}
