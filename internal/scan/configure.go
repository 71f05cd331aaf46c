package scan

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/configedit"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Migration is the result of [MigrateConfig].
type Migration struct {
	Servers []string `json:"servers"` // whose checksum became a verify block
	Kept    []string `json:"kept"`    // whose checksum is ignored, for a person to remove
}

// MigrateConfig rewrites the deprecated keys of hallmark.toml in dir, and keeps everything else. It
// does not write a file that has none.
func MigrateConfig(_ context.Context, dir string) (*Migration, error) {
	m := &Migration{Servers: []string{}, Kept: []string{}}
	name := filepath.Join(dir, project.ConfigFile)
	data, err := readConfig(name)
	if err != nil {
		return nil, err
	}
	_, migrated, kept, err := configedit.Migrate(data)
	if err != nil {
		return nil, err
	}
	m.Servers, m.Kept = append(m.Servers, migrated...), append(m.Kept, kept...)
	if len(migrated) == 0 {
		return m, nil
	}
	return m, clients.Replace(name, func(data []byte) ([]byte, error) {
		out, _, _, err := configedit.Migrate(data)
		return out, err
	})
}

// readConfig reads a hallmark.toml, which must exist.
func readConfig(name string) ([]byte, error) {
	data, err := workspace.ReadPlain(name, project.MaxConfig)
	if err == nil && data == nil {
		err = evidence.Errorf(evidence.Validation, name, "name the project's directory with --project",
			errors.New("there is no such file"))
	}
	return data, err
}

// VerifyResult is the result of [VerifyServer].
type VerifyResult struct {
	Type    project.VerifyType
	Verdict policy.Verdict // of what the block claims now
	Files   []evidence.Observed
	Chains  []string // the links that lead to each file, "" if there are none
	Written bool
}

// VerifyServer hashes the files that the verify block of a server in hallmark.toml names, and
// compares them with the block's claims. With write it stores the digests in the block. A server
// without a block gets one, for the script of its interpreter, else for its command.
func VerifyServer(_ context.Context, h *host.Host, dir, name string, write bool) (*VerifyResult, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	w := &workspace.Workspace{Host: h, Dir: abs}
	config := filepath.Join(dir, project.ConfigFile)
	data, err := readConfig(config)
	if err != nil {
		return nil, err
	}
	s, err := configedit.Unfilled(data, name)
	if err != nil {
		return nil, err
	}
	block := s.Verify
	if block == nil {
		if block, err = proposeBlock(s); err != nil {
			return nil, err
		}
	}
	out := &VerifyResult{Type: block.Type}
	if block.Type == project.VerifyNone {
		out.Verdict = policy.Judge(policy.Bare, policy.Settings{}, evidence.Report{evidence.Waive(
			evidence.Claim{Subject: name, Scheme: evidence.File, Authority: evidence.Verify, Where: project.ConfigFile},
			evidence.Observed{}, block.Reason)})
		return out, nil
	}
	filled := project.Verify{Type: block.Type}
	var report evidence.Report
	for _, c := range block.Claims {
		var file, chain string
		if c.Path != "" {
			file, chain = program.ResolveVerifyPath(w, c.Path)
		} else {
			found, err := w.FindCommand(s.Command, h.Getenv("PATH"))
			if err != nil {
				return nil, err
			}
			file, chain = program.ResolveVerifyPath(w, found)
		}
		o, err := program.HashFile(file, c.Want.Algorithm())
		if err != nil {
			return nil, evidence.Errorf(evidence.Operation, name, "", err)
		}
		for _, d := range o.Digests {
			if d.Algorithm() == c.Want.Algorithm() {
				filled.Claims = append(filled.Claims, project.FileClaim{Path: c.Path, Want: d})
			}
		}
		claim := evidence.Claim{Subject: file, Scheme: evidence.File, Authority: evidence.Verify,
			Where: fmt.Sprintf("%s line %d, verify", project.ConfigFile, s.Line)}
		if s.Verify != nil {
			claim.Where = fmt.Sprintf("%s line %d, verify", project.ConfigFile, s.Verify.Line)
			claim.Want = []digest.Digest{c.Want}
		}
		e := evidence.Compare(claim, o)
		e.Reason = chain
		report = append(report, e)
		out.Files, out.Chains = append(out.Files, o), append(out.Chains, chain)
	}
	out.Verdict = policy.Judge(policy.Bare, policy.Settings{}, report)
	if !write {
		return out, nil
	}
	if _, err := configedit.SetVerify(data, name, filled); err != nil {
		return nil, err
	}
	err = clients.Replace(config, func(data []byte) ([]byte, error) { return configedit.SetVerify(data, name, filled) })
	out.Written = err == nil
	return out, err
}

// proposeBlock returns a verify block with zero digests for a server without one. It fails if no
// hash of a file covers what the server runs.
func proposeBlock(s project.Server) (*project.Verify, error) {
	zero, err := digest.New(digest.SHA256, make([]byte, 32))
	if err != nil {
		return nil, err
	}
	t := launcher.Parse(s.Command, s.Arguments)
	switch {
	case s.Record != "" || !t.Direct:
		return nil, evidence.Errorf(evidence.Refused, s.Name,
			"pin it by its version in 'arguments' and run 'hallmark pin "+s.Name+"'",
			errors.New("no hash of its command covers what it runs"))
	case t.File != "":
		return &project.Verify{Type: project.VerifyFile, Claims: []project.FileClaim{{Path: t.File, Want: zero}}}, nil
	}
	return &project.Verify{Type: project.VerifyCommand, Claims: []project.FileClaim{{Want: zero}}}, nil
}
