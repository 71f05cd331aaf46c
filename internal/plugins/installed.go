package plugins

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/tree"
)

// installedPlugin is an installed plugin with an inventory of its directory.
type installedPlugin struct {
	*Source
	inventory tree.Inventory
	modules   []tree.File   // external packages that belong to the plugin
	files     digest.Digest // hallmark-tree-v1 of all that belongs to the plugin
}

// readInstalled reads the directory of an installed plugin, each of its bytes once.
func readInstalled(ctx context.Context, path string) (*installedPlugin, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", err)
	}
	defer root.Close()
	lists, err := tree.Inspect(root.FS(), tree.Limits{})
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", err)
	}
	self, err := root.Stat(".") // the inventory does not list the directory itself
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", err)
	}
	if special, ok := tree.SpecialMode(".", self.Mode()); ok {
		lists.Unhashed = append(lists.Unhashed, special)
	}
	open, done := durable.Opener(root)
	defer done()
	b, err := plugin.ReadBundle(ctx, lists.Files, lists.Refused, open)
	if err != nil {
		return nil, nameSubject(path, err)
	}
	p := &installedPlugin{Source: &Source{Bundle: b}, inventory: lists}
	m, err := p.Inspect(path)
	if err != nil {
		return nil, err
	}
	for _, f := range lists.Files {
		if m.MayHaveExternals() && (f.Path == modulesFile || strings.HasPrefix(f.Path, modulesDir)) {
			p.modules = append(p.modules, f)
		}
	}
	if p.files, err = p.filesHash(ctx, p.modules, open); err != nil {
		return nil, nameSubject(path, err)
	}
	p.modulesLock, err = readModulesLock(root, p.modules)
	return p, err
}

// filesHash returns the tree hash of all that belongs to the plugin, and of the files more, which open
// opens. No file counts as executable, as in the tree of dist/.
func (s *Source) filesHash(ctx context.Context, more []tree.File, open tree.Open) (digest.Digest, error) {
	contents := s.files()
	var all []tree.File
	for path, data := range contents {
		all = append(all, tree.File{Path: path, Size: int64(len(data))})
	}
	for _, f := range more {
		all = append(all, tree.File{Path: f.Path, Size: f.Size})
	}
	d, _, err := tree.V1(ctx, all, func(path string) (io.ReadCloser, error) {
		if data, ok := contents[path]; ok {
			return io.NopCloser(bytes.NewReader(data)), nil
		}
		return open(path)
	}, 1)
	return d, err
}

// covered returns what lies beside dist/ if all that belongs to the plugin has the hash that a lock names.
func (p *installedPlugin) covered(want digest.Digest) []string {
	if len(p.modules) == 0 || len(p.inventory.Refused) > 0 || !evidence.Same(p.files, want) {
		return nil
	}
	return []string{modulesDir, modulesFile}
}

// extraEvidence returns evidence of everything in the directory that the lock does not cover.
// covered means that the lock has the hash of all files.
func (p *installedPlugin) extraEvidence(m *plugin.Manifest, covered bool) (out evidence.Report) {
	claim := func(path string) evidence.Claim {
		return evidence.Claim{Subject: m.Subject() + ": " + path, Scheme: evidence.Installed, Authority: evidence.Lock,
			Where: plugin.LockFile}
	}
	for _, path := range p.Bundle.Beside {
		if covered && m.MayHaveExternals() && (path == modulesDir || path == modulesFile) {
			continue // links below it are reported next
		}
		out = append(out, evidence.Evidence{Claim: claim(path), Outcome: evidence.Absent,
			Reason: "it is no part of the plugin that was installed"})
	}
	for _, r := range p.inventory.Refused {
		first, _, below := strings.Cut(r.Path, "/")
		if below && first+"/" != modulesDir {
			first += "/"
		}
		if slices.Contains(p.Bundle.Beside, first) {
			continue // named already
		}
		out = append(out, evidence.Evidence{Claim: claim(r.Path), Outcome: evidence.Absent, Reason: "it is " + r.Kind})
	}
	for _, entry := range p.inventory.Unhashed {
		switch {
		case entry.Mode == fs.ModeDir:
			out = append(out, evidence.Evidence{Claim: claim(entry.Path + "/"), Outcome: evidence.Absent,
				Reason: "it is " + entry.Kind})
		case entry.Mode != fs.ModeDir|fs.ModeSetgid: // which a directory inherits from the one above
			e := evidence.Fact(claim(entry.Path), entry.Kind)
			e.Text, e.Outcome = "no such mode", evidence.Mismatch
			out = append(out, e)
		}
	}
	return out
}

// lockEvidence compares a lock with the directory, and with this machine's record of the install,
// which is nil without one. known means that this machine installed other plugins beside it. The flags of target
// are within the lock's.
func (p *installedPlugin) lockEvidence(path string, l *InstallLock, r *plugin.Result, install *InstallRecord,
	known bool, target plugin.Host) (evidence.Report, error) {
	remembered, err := memoryEvidence(path, l, install, known)
	if err != nil {
		return nil, err
	}
	sure := remembered.Outcome == evidence.Match
	found := Found{Files: p.files, Hashed: r.Profile.SelectFiles(p.Bundle.Files)}
	if l.SHA256 != "" && !sure {
		zip, err := p.packZip()
		if err != nil {
			return nil, nameSubject(path, err)
		}
		found.Packed = digest.FromBytes(zip)
	}
	report, err := l.Evidence(r, found, sure)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, path, "", err)
	}
	report = append(report, nativeEvidence(r.Manifest, p.modules, target.Flags)...)
	if why := l.Unproved(found.Packed); why != "" {
		claim := installClaim(path)
		claim.Where = plugin.LockFile
		why = plugin.LockFile + " is of another form: " + why
		const anew = "'hallmark plugin lock' writes it anew"
		e := evidence.Evidence{Claim: claim, Outcome: evidence.Absent, Reason: why + "; " + anew}
		if target.Strict { // which asks that nothing is taken on somebody's word
			e = evidence.Miss(claim, evidence.Caller, why, anew)
		}
		report = append(report, e)
	}
	return append(append(report, p.extraEvidence(r.Manifest, l.Files != "")...), remembered), nil
}

// memoryEvidence compares a lock with this machine's record of the install.
func memoryEvidence(path string, l *InstallLock, install *InstallRecord,
	known bool) (evidence.Evidence, error) {
	claim := installClaim(path)
	now, err := l.Digest()
	if err != nil {
		return evidence.Evidence{}, err
	}
	switch {
	case install != nil:
		claim.Want = []digest.Digest{install.Lock}
		e := evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{now}, From: plugin.LockFile})
		if e.Outcome == evidence.Mismatch {
			e.Reason = fmt.Sprintf("%s is not the one that was written here on %s", plugin.LockFile,
				install.At.Format("2006-01-02"))
		}
		return e, nil
	case known:
		return evidence.Miss(claim, evidence.Machine, "this machine installed the plugins beside it, and not this one",
			"install it with 'hallmark plugin install'; or, if what is there is what you want, accept it with "+
				"'hallmark plugin lock'"), nil
	}
	return evidence.Evidence{Claim: claim, Outcome: evidence.Absent,
			Reason: "this machine did not install it: what the lock says of its source, date and flags is " +
				"compared with nothing"},
		nil
}
