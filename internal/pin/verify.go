package pin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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

// VerifyResult is the result of [VerifyServer].
type VerifyResult struct {
	Name    string
	Type    project.VerifyType
	Verdict policy.Verdict // of what the block claims now
	Files   []evidence.Observed
	Chains  []string // the links that lead to each file, "" if there are none
	Written bool
	// LauncherOnly says that the block hashes a launcher alone, and what pins the rest; "" if not.
	LauncherOnly string
}

// ServersToVerify returns the servers of hallmark.toml in dir that have a verify block, or a checksum
// that stands for one, by name.
func ServersToVerify(dir string) (names []string, err error) {
	data, err := readConfig(filepath.Join(dir, project.ConfigFile))
	if err != nil {
		return nil, err
	}
	return workspace.ServersToVerify(data)
}

// VerifyServer hashes the files that the verify block of a server in hallmark.toml names, and
// compares them with the block's claims. With write it stores the digests in the block. A server
// without a block gets one, for the script of its interpreter, else for its command.
func VerifyServer(_ context.Context, h *host.Host, dir, name string, write bool) (*VerifyResult, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, project.ConfigFile)
	data, err := readConfig(config)
	if err != nil {
		return nil, err
	}
	s, err := workspace.UnfilledServer(data, name)
	if err != nil {
		return nil, err
	}
	block := s.Verify
	if block == nil {
		if block, err = proposeBlock(s); err != nil {
			return nil, err
		}
	}
	out := &VerifyResult{Name: name, Type: block.Type}
	with := s
	with.Verify = block
	out.LauncherOnly = with.LauncherOnly()
	if block.Type == project.VerifyNone {
		out.Verdict = policy.Judge(policy.Bare, policy.Settings{}, evidence.Report{evidence.Waive(
			evidence.Claim{Subject: name, Scheme: evidence.File, Authority: evidence.Verify, Where: project.ConfigFile},
			evidence.Observed{}, block.Reason)})
		return out, nil
	}
	if !write && isUnfilled(data, s) {
		return nil, evidence.Errorf(evidence.Validation, name, "'hallmark verify-server "+name+" --write' fills it in",
			errors.New("its verify block has no value"))
	}
	filled, err := out.hashBlock(&workspace.Workspace{Host: h, Dir: abs}, s, block)
	if err != nil {
		return nil, err
	}
	if !write {
		return out, nil
	}
	if _, err := workspace.SetVerify(data, name, filled); err != nil {
		return nil, err
	}
	err = clients.Replace(config, func(data []byte) ([]byte, error) { return workspace.SetVerify(data, name, filled) })
	out.Written = err == nil
	return out, err
}

// hashBlock hashes the files that a block of the server s names, and compares them with its claims. It returns the
// block with their digests.
func (r *VerifyResult) hashBlock(w *workspace.Workspace, s project.Server,
	block *project.Verify) (filled project.Verify, err error) {
	filled.Type = block.Type
	var report evidence.Report
	for _, c := range block.Claims {
		found, err := hashClaimed(w, s, c)
		if err != nil {
			return filled, err
		}
		filled.Claims = append(filled.Claims, found.claims...)
		report = append(report, found.evidence)
		r.Files, r.Chains = append(r.Files, found.file), append(r.Chains, found.chain)
	}
	r.Verdict = policy.Judge(policy.Bare, policy.Settings{}, report)
	return filled, nil
}

// claimedFile is the file that a claim of a verify block is about.
type claimedFile struct {
	file     evidence.Observed
	chain    string              // the links that lead to it, "" if there are none
	claims   []project.FileClaim // the claim with the file's digest
	evidence evidence.Evidence   // the file against the claim, which no block makes yet if it is proposed
}

// hashClaimed hashes the file that claim c of the block of server s names, the command of s if it
// names none.
func hashClaimed(w *workspace.Workspace, s project.Server, c project.FileClaim) (claimedFile, error) {
	path := c.Path
	if path == "" {
		command, err := w.FindCommand(s.Command, w.Host.Getenv("PATH"))
		if err != nil {
			return claimedFile{}, err
		}
		path = command
	}
	file, chain := program.ResolveVerifyPath(w, path)
	o, err := program.HashFile(file, c.Want.Algorithm())
	if err != nil {
		return claimedFile{}, evidence.Errorf(evidence.Operation, s.Name, "see that the file is there, or name "+
			"another one in the server's verify block; its path is relative to the project's directory", err)
	}
	out := claimedFile{file: o, chain: chain}
	for _, d := range o.Digests {
		if d.Algorithm() == c.Want.Algorithm() {
			out.claims = append(out.claims, project.FileClaim{Path: c.Path, Want: d})
		}
	}
	claim := evidence.Claim{Subject: file, Scheme: evidence.File, Authority: evidence.Verify,
		Where: fmt.Sprintf("%s line %d, verify", project.ConfigFile, s.Line)}
	if s.Verify != nil {
		claim.Where = fmt.Sprintf("%s line %d, verify", project.ConfigFile, s.Verify.Line)
		claim.Want = []digest.Digest{c.Want}
	}
	out.evidence = evidence.Compare(claim, o)
	out.evidence.Reason = chain
	return out, nil
}

// isUnfilled reports whether the verify block of s, which [workspace.UnfilledServer] read from data, has an empty
// value.
func isUnfilled(data []byte, s project.Server) bool {
	_, err := project.ParseConfig(data)
	return err != nil && s.Verify != nil && slices.ContainsFunc(s.Verify.Claims, func(c project.FileClaim) bool {
		return strings.Trim(c.Want.Hex(), "0") == ""
	})
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
