package hallmark

import (
	"context"
	"errors"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// registryPlugin downloads a version of a plugin from the registry, if the record and its
// log allow it, and adds to host what they say of it.
func registryPlugin(ctx context.Context, h *Host, name, version string, o InstallOptions, host *plugin.Host, claims []evidence.Claim) (*PluginSource, error) {
	if o.Registry.URL == "" {
		return nil, evidence.Errorf(evidence.Validation, name, "name a registry with --registry or in "+project.ConfigFile+", or give a URL, a zip or a directory",
			errors.New("neither a file nor a directory, and no registry is configured"))
	}
	client := &client.Client{Base: o.Registry.URL, May: func() error {
		return h.MayAsk(consent.HostUse{Host: hostNamed(o.Registry.URL), File: project.ConfigFile + ", [registry] url"})
	}}
	rec, err := client.ArchiveRecord(ctx, string(ledger.Plugin), name, version)
	if err != nil {
		return nil, answered(name+"@"+version, evidence.Operation, err)
	}
	document, err := rec.Document()
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, rec.Subject(), "", err)
	}
	host.Outside = append(host.Outside, recordStatus(rec))
	if err := proveArchive(ctx, h, client, rec, document, o, host); err != nil {
		return nil, err
	}
	// Nothing is fetched that is refused already.
	if err := policy.Judge(policy.Plugin, policy.Settings{}, host.Outside).Err(); err != nil {
		return nil, err
	}
	body, size, err := client.OpenArchive(ctx, string(ledger.Plugin), rec.Name, rec.Version)
	if err != nil {
		return nil, answered(rec.Subject(), evidence.Operation, err)
	}
	defer body.Close()
	said := func(scheme evidence.Scheme, member string, want digest.Digest) evidence.Claim {
		return evidence.Claim{Subject: rec.Subject(), Scheme: scheme, Authority: evidence.Record, Want: []digest.Digest{want}, Where: "the registry's record, " + member}
	}
	transport := said(evidence.File, "content_hash", rec.ContentHash)
	s, err := readZip(ctx, rec.Subject(), &watched{r: body, what: rec.Subject(), total: size, tell: o.Progress}, append(claims, transport)...)
	if err != nil {
		return nil, err
	}
	if s.source, err = client.ArchiveURL(string(ledger.Plugin), rec.Name, rec.Version); err != nil {
		return nil, err
	}
	framed, err := s.Bundle.Tree(ctx)
	if err != nil {
		return nil, at(rec.Subject(), err)
	}
	canonical, err := serverjson.Canonical(s.Bundle.Manifest)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, rec.Subject(), "", err)
	}
	compare := func(claim evidence.Claim, got digest.Digest, size int64, from string) {
		host.Outside = append(host.Outside, evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{got}, Size: size, From: from}))
	}
	compare(transport, s.Zip, int64(len(s.packed)), client.Base)
	compare(said(evidence.Document, "manifest", document), digest.FromBytes(canonical), int64(len(s.Bundle.Manifest)), plugin.ManifestFile)
	compare(said(evidence.Tree, "content_integrity", rec.ContentIntegrity), framed, s.Bundle.Bytes(), plugin.DistDir+"/")
	return s, nil
}

// proveArchive adds what the registry's log says of a record.
func proveArchive(ctx context.Context, h *Host, client *client.Client, rec registry.ArchiveRecord, document digest.Digest, o InstallOptions, host *plugin.Host) error {
	log, err := readLog(ctx, h, client, o.Registry, o.Log)
	if err != nil {
		return err
	}
	r := project.RecordLock{Kind: ledger.Plugin, Registry: o.Registry.Name(), Name: rec.Name, Version: rec.Version, Document: document, Integrity: rec.ContentIntegrity}
	if log == nil {
		host.Outside = append(host.Outside, noProof(r, "the registry has no log"))
		return nil
	}
	host.Outside = slices.Concat(host.Outside, log.report)
	if log.key == "" {
		return nil
	}
	if len(rec.Proof) == 0 {
		host.Outside = append(host.Outside, evidence.CannotVerify(proofClaim(r, log.head.Origin), evidence.NotFound, "the registry has a log, and gave no proof"))
		return nil
	}
	more, err := log.proven(ctx, rec.Proof, &r)
	if host.Outside = append(host.Outside, more...); err != nil || r.Proof == "" {
		return err
	}
	more, err = log.said(ctx, rec, r.Proof)
	host.Outside = append(host.Outside, more...)
	return err
}
