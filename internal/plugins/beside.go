package plugins

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// holdToLock has the check of the plugin at path count what a lock beside it covers, and miss what this
// machine installed there: a plugin that is verified in its place owes what it owes when it is revalidated.
func (s *Source) holdToLock(ctx context.Context, h *host.Host, path string, target *plugin.Host) error {
	target.Locked = s.staleEvidence
	if !s.Zip.IsZero() {
		return nil
	}
	owed, err := rememberedEvidence(h, path)
	if err != nil {
		return err
	}
	if target.Vouched, err = s.coveredBeside(ctx, path); err != nil {
		return err
	}
	target.Locked = func(r *plugin.Result) evidence.Report { return append(s.staleEvidence(r), owed...) }
	return nil
}

// rememberedEvidence compares the lock of the plugin at path with this machine's record of its install. There is
// no evidence of one that was not installed here, and an error if it was and its lock is gone or unreadable.
func rememberedEvidence(h *host.Host, path string) (evidence.Report, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", err)
	}
	installed, err := readAllInstalls(h, filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	one, ok := installed[filepath.Base(abs)]
	if !ok {
		return nil, nil
	}
	l, err := readInstallLock(path)
	if err != nil {
		return nil, err
	}
	e, err := memoryEvidence(path, l, &one, true)
	return evidence.Report{e}, err
}

// coveredBeside returns what lies beside dist/ and is what the plugin's lock says, byte for byte: its external
// packages, if nothing but files lies among them.
func (s *Source) coveredBeside(ctx context.Context, path string) ([]string, error) {
	if !slices.Contains(s.Bundle.Beside, modulesDir) {
		return nil, nil
	}
	l, err := ParseInstallLock(s.Bundle.Documents[plugin.LockFile])
	if err != nil || l.Files == "" {
		return nil, nil // the caller that needs it says so
	}
	want, err := digest.Parse(l.Files)
	if err != nil {
		return nil, nil
	}
	p, err := readInstalled(ctx, path)
	if err != nil {
		return nil, err
	}
	return p.covered(want), nil
}
