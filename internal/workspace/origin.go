package workspace

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/project"
)

// OriginEvidence compares an entry that says which facet declares its server with the contents of that facet. Without
// them nothing is decided: the entry alone could name any facet. It is nil for a server of hallmark.toml.
func OriginEvidence(ctx context.Context, w *Workspace, name string, entry project.ServerLock) (
	evidence.Report, error) {
	if entry.Launch.Facet == "" {
		return nil, nil
	}
	of, ok := w.Lock.Facet(entry.Launch.Facet)
	if !ok {
		return nil, nil // then the entry is of no server: see Workspace.LockedServer
	}
	subject := of.Subject(entry.Launch.Facet)
	st, err := w.Host.Store()
	if err != nil {
		return nil, err
	}
	slot, _, err := st.WithScheme(evidence.FacetTar).Audit(ctx, subject, of.Integrity)
	switch {
	case errors.Is(err, store.ErrNotStored):
		return evidence.Report{UnseenOriginEvidence(subject, name)}, nil
	case err != nil:
		return nil, err
	case slot == nil:
		return evidence.Report{evidence.Fact(originClaim(subject, name),
			"unknown, as its contents were changed in the store")}, nil
	}
	data, err := os.ReadFile(filepath.Join(slot.Dir(), facet.ManifestFile))
	if err != nil {
		return nil, err
	}
	m, err := facet.ParseManifest(data)
	if err != nil {
		return nil, err
	}
	return evidence.Report{DeclaredEvidence(w.Config, m, subject, name, entry)}, nil
}

// originClaim is the claim of an entry that a facet declares its server as it was locked.
func originClaim(facet, server string) evidence.Claim {
	return evidence.Claim{Subject: server, Scheme: evidence.Launch, Authority: evidence.Lock,
		Text: "as " + facet + " declares it", Where: project.LockFile}
}

// UnseenOriginEvidence says that the contents of a facet, which would show whether it declares a server, are not here.
func UnseenOriginEvidence(facet, server string) evidence.Evidence {
	return evidence.CannotVerify(originClaim(facet, server), evidence.NotFound, "the contents of "+facet+
		", which are to declare it, are not in this machine's store; run 'hallmark install --frozen' first")
}

// DeclaredEvidence is the evidence that a facet declares a locked server as it was locked, and that hallmark.toml wants
// it.
func DeclaredEvidence(config *project.Config, m *facet.Manifest, subject, name string,
	entry project.ServerLock) evidence.Evidence {
	declared, d, ok := m.FindServer(name)
	l := entry.Launch
	same := ok && (d.Floor != nil && l.Source == project.SourceName(declared, *d.Floor) ||
		d.Image != "" && project.Server{Command: l.Command, Arguments: l.Arguments}.Kind().Pulled() &&
			slices.Equal(l.Arguments, []string{"run", "-i", "--rm", d.Image}) ||
		d.Command != "" && l.Command == d.Command && slices.Equal(l.Arguments, append([]string{}, d.Args...)) &&
			maps.Equal(l.Environment, d.Env))
	c := originClaim(subject, name)
	if ok && !config.Facets[l.Facet].WantsServer(declared) {
		return evidence.Fact(c, "left out, by 'parts' of "+project.ConfigFile)
	}
	if same {
		return evidence.Fact(c, c.Text)
	}
	return evidence.Fact(c, "otherwise, or not at all")
}
