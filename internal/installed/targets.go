package installed

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// target says where a client reads the deliverables of facets, relative to the project, and which
// files show that the client is used in the project.
type target struct {
	marks    []string // files or directories
	skills   string   // directory of directories
	agents   string   // directory
	agent    string   // what follows the name of an agent
	commands string   // directory
	command  string   // what follows the name of a command
	user     *target  // where the client reads the user's own, relative to the home directory
}

// of is the target's own column, or that of the user's own clients.
func (t target) of(w *workspace.Workspace) target {
	if w.Home != "" && t.user != nil {
		return *t.user
	}
	return t
}

// targets are the known targets, by name.
var targets = map[string]target{
	project.TargetClaudeCode: {
		marks:  []string{".claude", ".mcp.json", "CLAUDE.md"},
		skills: ".claude/skills", agents: ".claude/agents", agent: ".md", commands: ".claude/commands", command: ".md",
		user: &target{marks: []string{".claude", ".claude.json"}, skills: ".claude/skills", agents: ".claude/agents",
			agent: ".md", commands: ".claude/commands", command: ".md"},
	},
	project.TargetCodex: {
		marks:  []string{".codex", ".agents"},
		skills: ".agents/skills", agents: ".codex/agents", agent: ".toml", commands: ".agents/commands", command: ".md",
		user: &target{marks: []string{".codex"}, skills: ".agents/skills", agents: ".codex/agents", agent: ".toml",
			commands: ".codex/prompts", command: ".md"},
	},
	project.TargetOpencode: {
		marks:  []string{".opencode", "opencode.json", "opencode.jsonc"},
		skills: ".opencode/skills", agents: ".opencode/agents", agent: ".md", commands: ".opencode/commands",
		command: ".md",
		user: &target{marks: []string{".config/opencode"}, skills: ".config/opencode/skills",
			agents: ".config/opencode/agents", agent: ".md", commands: ".config/opencode/commands", command: ".md"},
	},
	project.TargetCursor: {
		marks:  []string{".cursor", ".cursorrules"},
		skills: ".cursor/skills", agents: ".cursor/agents", agent: ".md", commands: ".cursor/commands", command: ".md",
		user: &target{marks: []string{".cursor"}, skills: ".cursor/skills", agents: ".cursor/agents", agent: ".md",
			commands: ".cursor/commands", command: ".md"},
	},
	project.TargetCopilot: {
		marks: []string{".vscode/mcp.json", ".github/copilot-instructions.md", ".github/skills", ".github/agents",
			".github/prompts"},
		skills: ".github/skills", agents: ".github/agents", agent: ".agent.md", commands: ".github/prompts",
		command: ".prompt.md",
		// Prompts of the user lie in the profile of an editor, of which there may be many.
		user: &target{marks: []string{".copilot"}, skills: ".copilot/skills", agents: ".copilot/agents",
			agent: ".agent.md"},
	},
}

// Targets are the targets of hallmark.toml, or those whose clients are used in the project.
func Targets(w *workspace.Workspace) []string {
	if w.Config.Targets != nil {
		return w.Config.Targets
	}
	var found []string
	for _, name := range project.Targets() {
		for _, mark := range targets[name].of(w).marks {
			if _, err := os.Lstat(w.Place(mark)); err == nil {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

// targetPath is where a file of a deliverable goes for a target, relative to [workspace.Workspace.PlaceDir];
// "" if the client reads no such thing there.
func targetPath(w *workspace.Workspace, name string, d facet.Deliverable, file string) string {
	if dir, ok := strings.CutPrefix(name, project.TargetDir); ok {
		return path.Join(dir, file)
	}
	t := targets[name].of(w)
	switch d.Kind {
	case facet.KindCommand:
		if t.commands == "" {
			return ""
		}
		return path.Join(t.commands, d.Name+t.command)
	case facet.KindAgent:
		return path.Join(t.agents, d.Name+t.agent)
	}
	return path.Join(t.skills, strings.TrimPrefix(file, "skills/"))
}

// changesOnRender reports whether render may change a file.
func changesOnRender(name string, d facet.Deliverable, file string) bool {
	return !strings.HasPrefix(name, project.TargetDir) && file == d.Paths[0]
}

// render is what a target gets for a file: its bytes as they are, with two exceptions. A client
// finds a Markdown file by its front matter, so that a file without front matter gets one from
// facet.json; and Codex reads agents as TOML.
func render(name string, m *facet.Manifest, d facet.Deliverable, file string, data []byte) ([]byte, error) {
	if !changesOnRender(name, d, file) {
		return data, nil
	}
	if name == project.TargetCodex && d.Kind == facet.KindAgent {
		return toml.Marshal(struct {
			Name         string `toml:"name"`
			Description  string `toml:"description"`
			Instructions string `toml:"developer_instructions,multiline"`
		}{d.Name, description(m, d), string(markdownBody(data))})
	}
	if _, has := frontMatter(data); has {
		return data, nil
	}
	head := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\n", d.Name, yamlText(description(m, d)))
	return append([]byte(head), data...), nil
}

// description is what facet.json says of a deliverable.
func description(m *facet.Manifest, d facet.Deliverable) string {
	switch d.Kind {
	case facet.KindAgent:
		return m.Agents[d.Name].Description
	case facet.KindCommand:
		return m.Commands[d.Name].Description
	}
	return m.Skills[d.Name].Description
}

// frontMatter is the length of what stands between lines of three hyphens at the
// beginning of a file, lines included.
func frontMatter(data []byte) (n int, has bool) {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || strings.TrimRight(string(first), "\r") != "---" {
		return 0, false
	}
	n = len(first) + 1
	for line := range bytes.Lines(rest) {
		n += len(line)
		if strings.TrimRight(string(line), "\r\n") == "---" {
			return n, true
		}
	}
	return 0, false
}

// markdownBody is what follows the front matter of a Markdown file.
func markdownBody(data []byte) []byte {
	n, _ := frontMatter(data)
	return bytes.TrimLeft(data[n:], "\r\n")
}

// yamlText is s as a double-quoted scalar of YAML, which takes the escapes of JSON.
func yamlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == 0x85 || r == 0xfeff || r >= 0x2028 && r <= 0x2029:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
