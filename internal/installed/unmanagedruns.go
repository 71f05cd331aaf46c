package installed

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// Bounds of what is said of what runs: files that are looked at, lines that are shown, and characters of each line.
const (
	maxRunFiles  = 1000
	maxRunsShown = 5
	maxRunText   = 120
)

// Runs says for people what runs of u once a client loads it, or a model follows it; "" if nothing does. No link is
// followed.
func (u Unmanaged) Runs(w *workspace.Workspace) (string, error) {
	if u.Link {
		return "", nil
	}
	m := &facet.Manifest{Skills: map[string]facet.Skill{}, Agents: map[string]facet.Prompt{},
		Commands: map[string]facet.Prompt{}}
	files := map[string]string{} // by member of m; "" is an empty file
	var others []string
	root, count := w.Place(u.Path), 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if count++; err != nil || count > maxRunFiles || !d.Type().IsRegular() {
			return err
		}
		switch text := fmt.Sprintf("%05d", count); {
		case u.Kind == facet.KindAgent:
			m.Agents[text], files["agents/"+text+".md"] = facet.Prompt{}, name
		case u.Kind == facet.KindCommand:
			m.Commands[text], files["commands/"+text+".md"] = facet.Prompt{}, name
		case strings.EqualFold(d.Name(), facet.SkillFile):
			m.Skills[text], files["skills/"+text+"/"+facet.SkillFile] = facet.Skill{}, name
		default:
			member := text + path.Ext(d.Name())
			others, files["skills/others/"+member] = append(others, member), name
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if others != nil {
		m.Skills["others"], files["skills/others/"+facet.SkillFile] = facet.Skill{Files: others}, ""
	}
	runs, err := facet.Runs(m, func(member string) (io.ReadCloser, error) {
		if files[member] == "" {
			return io.NopCloser(bytes.NewReader(nil)), nil
		}
		return os.Open(files[member])
	}, LiveFor(All()))
	if count > maxRunFiles {
		runs = append(runs,
			facet.Run{Kind: facet.RunUnread, Text: fmt.Sprintf("more than %d files, which were not all looked at",
				maxRunFiles)})
	}
	return describeRuns(runs), err
}

// describeRuns is what runs as one line: each text, and how many scripts there are.
func describeRuns(runs []facet.Run) string {
	var lines []string
	scripts := 0
	for _, r := range runs {
		if r.Kind == facet.RunScript {
			scripts++
			continue
		}
		what := strings.Join(launcher.Redact(strings.Fields(r.Text)), " ")
		if name, _, ok := strings.Cut(what, ":"); r.Kind == facet.RunAllowed && ok &&
			strings.HasPrefix(strings.ToLower(name), "mcp") {
			what = name // which may hold values of variables, and has findings of its own
		}
		text := []rune(what)
		if len(text) > maxRunText {
			text = append(text[:maxRunText:maxRunText], []rune(" …")...)
		}
		lines = append(lines, string(text))
	}
	if len(lines) > maxRunsShown {
		lines = append(lines[:maxRunsShown:maxRunsShown], fmt.Sprintf("%d more", len(lines)-maxRunsShown))
	}
	if scripts > 0 {
		lines = append(lines, fmt.Sprintf("files that are programs: %d", scripts))
	}
	return strings.Join(lines, ", ")
}
