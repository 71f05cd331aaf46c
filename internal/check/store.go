package check

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// StorePath returns the directory of the store.
func StorePath(h *host.Host) (string, error) {
	st, err := h.Store()
	if err != nil {
		return "", err
	}
	return st.Path(), nil
}

// StoreReport is the result of [VerifyStore].
type StoreReport struct {
	Verdict     policy.Verdict
	Slots       int      // that were hashed, and whatever else lies where they do
	Quarantined []string // directories that were found bad before, and moved away
}

// VerifyStore hashes everything in the store again.
func VerifyStore(ctx context.Context, h *host.Host) (StoreReport, error) {
	st, err := h.Store()
	if err != nil {
		return StoreReport{}, err
	}
	all, err := st.Verify(ctx)
	if err != nil {
		return StoreReport{}, err
	}
	var report evidence.Report
	for _, c := range all {
		report = append(report, c.Report...)
	}
	away, err := st.ListQuarantined()
	return StoreReport{policy.Judge(policy.Check, policy.Settings{}, report), len(all), away}, err
}

// Pruning says what [PruneStore] keeps.
type Pruning struct {
	Age time.Duration // what is younger stays, of slots and of the quarantine

	QuarantineAge  time.Duration // what lies in quarantine for longer goes
	QuarantineSize int64         // and of the rest the oldest, until it is no more than this, in bytes
}

// Pruned is what [PruneStore] removed.
type Pruned struct {
	Slots       []digest.Digest
	Quarantined []string // directories that were found bad before
}

// PruneStore removes from the store what is older than o.Age and is in no lock of a project that this
// machine knows, what is remembered of scripts for longer than that, and what is old or too much in
// quarantine.
func PruneStore(ctx context.Context, h *host.Host, o Pruning) (Pruned, error) {
	st, err := h.Store()
	if err != nil {
		return Pruned{}, err
	}
	kept, err := lockedTrees(h)
	if err != nil {
		return Pruned{}, err
	}
	now := h.Now()
	plugins.PruneImportCache(h.Places.Cache, now.Add(-o.Age))
	var out Pruned
	out.Slots, err = st.Prune(ctx, now.Add(-o.Age), func(d digest.Digest) bool {
		return slices.ContainsFunc(kept, func(k digest.Digest) bool { return evidence.Same(k, d) })
	})
	if err != nil {
		return out, err
	}
	out.Quarantined, err = st.PruneQuarantine(ctx, now.Add(-o.QuarantineAge), now.Add(-o.Age), o.QuarantineSize)
	return out, err
}

// lockedTrees returns the slots that the locks and approvals of this machine's projects name. It
// fails if a lock cannot be read, because the slots that it names would be removed.
func lockedTrees(h *host.Host) ([]digest.Digest, error) {
	var kept []digest.Digest
	dirs := map[string]bool{}
	for _, pattern := range []string{
		filepath.Join("projects", "*", "approvals.json"), filepath.Join("receipts", "*.json"),
	} {
		found, err := filepath.Glob(filepath.Join(h.Places.State, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			dir, trees, err := readKnownProject(path)
			if err != nil {
				return nil, err
			}
			if kept = append(kept, trees...); dir != "" {
				dirs[dir] = true
			}
		}
	}
	for dir := range dirs {
		slots, err := lockedSlots(dir)
		if err != nil {
			return nil, err
		}
		kept = append(kept, slots...)
	}
	return kept, nil
}

// readKnownProject reads a file of this machine's state about a project. It returns the project's directory, "" if the
// file is damaged, and the trees that the machine made, if the file holds approvals.
func readKnownProject(path string) (dir string, trees []digest.Digest, err error) {
	data, err := host.ReadFile(path, machine.MaxReceipt)
	if err != nil {
		return "", nil, err
	}
	var of struct {
		Project string `json:"project"`
	}
	if json.Unmarshal(data, &of) != nil || !filepath.IsAbs(of.Project) {
		return "", nil, nil // damaged, which the command that needs it says
	}
	if approvals, err := project.ParseApprovals(data, of.Project); err == nil {
		for _, a := range approvals.Servers {
			for _, t := range a.Made {
				trees = append(trees, t.Tree)
			}
		}
	}
	return of.Project, trees, nil
}

// lockedSlots returns the slots that the lock of the project in dir names; none if the project is gone.
func lockedSlots(dir string) ([]digest.Digest, error) {
	data, err := workspace.ReadPlain(filepath.Join(dir, project.LockFile), project.MaxLock)
	if errors.Is(err, fs.ErrNotExist) || err == nil && data == nil {
		return nil, nil // the project is gone
	}
	if err != nil {
		return nil, err
	}
	lock, err := project.ParseLock(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), dir, "restore its hallmark.lock from version "+
			"control first", err)
	}
	var slots []digest.Digest
	for _, name := range lock.Facets() {
		entry, _ := lock.Facet(name)
		slots = append(slots, entry.Integrity)
	}
	for _, name := range lock.Servers() {
		entry, _ := lock.Server(name)
		slots = append(slots, kind.Of(entry.Source).Slots(entry)...)
	}
	return slots, nil
}
