package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// The targets that facets are installed for. A target "dir:PATH" is a directory of the
// project that gets the files as they are in the archives.
const (
	TargetClaudeCode = "claude-code"
	TargetCodex      = "codex"
	TargetOpencode   = "opencode"
	TargetCursor     = "cursor"
	TargetCopilot    = "copilot"
	TargetGemini     = "gemini"
	TargetQwen       = "qwen"
	TargetAmp        = "amp"
	TargetWindsurf   = "windsurf"
	TargetKiro       = "kiro"
	TargetZed        = "zed"
	TargetDir        = "dir:"
)

// Targets are the names of targets, without directories.
func Targets() []string {
	return []string{TargetClaudeCode, TargetCodex, TargetOpencode, TargetCursor, TargetCopilot,
		TargetGemini, TargetQwen, TargetAmp, TargetWindsurf, TargetKiro, TargetZed}
}

// vscode is another name of copilot, as both read the same files.
const vscode = "vscode"

// targets checks adapters.targets and gives each target its one name.
func targets(raw []string) ([]string, error) {
	var out []string
	for _, t := range raw {
		if t == vscode {
			t = TargetCopilot
		}
		if dir, ok := strings.CutPrefix(t, TargetDir); ok {
			if err := archive.CheckPath(dir); err != nil {
				return nil, fmt.Errorf("target %+q: the directory must be a clean path below the project: %w", t, err)
			}
		} else if !slices.Contains(Targets(), t) {
			return nil, fmt.Errorf("unknown target %+q; there are %s, and dir:PATH", t, strings.Join(Targets(), ", "))
		}
		if slices.Contains(out, t) {
			return nil, fmt.Errorf("target %s is named twice", t)
		}
		out = append(out, t)
	}
	if raw != nil && len(out) == 0 {
		return nil, errors.New("targets is empty; leave it out for those found in the project")
	}
	return out, nil
}
