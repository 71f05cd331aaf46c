package plugins

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// download fetches a plugin from the configured registry.
type download struct {
	host    *host.Host
	options InstallOptions
	target  *plugin.Host     // gets the evidence of the registry and its log
	claims  []evidence.Claim // of the caller, about the zip
}

// fetch downloads a version of a plugin if its record and the log allow it.
func (d *download) fetch(ctx context.Context, name, version string) (*Source, error) {
	h, o, target := d.host, d.options, d.target
	if o.Registry.URL == "" {
		return nil, evidence.Errorf(evidence.Validation, name, "name a registry with --registry or in "+
			project.ConfigFile+", or give a URL, a zip or a directory",
			errors.New("neither a file nor a directory, and no registry is configured"))
	}
	upstream := &client.Client{Base: o.Registry.URL, May: func() error {
		return h.RequireHostConsent(wire.HostUse{Host: host.HostOfURL(o.Registry.URL), File: project.ConfigFile +
			", [registry] url"})
	}}
	rec, err := upstream.ArchiveRecord(ctx, string(ledger.Plugin), name, version)
	if err != nil {
		return nil, client.ExplainAnswer(name+"@"+version, evidence.Operation, err)
	}
	document, err := rec.Document()
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, rec.Subject(), "", err)
	}
	target.Outside = append(target.Outside, obtain.ArchiveStatus(rec))
	if err := d.proveRecord(ctx, upstream, rec, document); err != nil {
		return nil, err
	}
	// Judge before downloading: a refused record must not cause another request.
	if err := policy.Judge(policy.Plugin, policy.Settings{}, target.Outside).Err(); err != nil {
		return nil, err
	}
	return d.download(ctx, upstream, rec, document)
}

// download fetches the zip of a record, and adds to the evidence how it compares with what the record claims. Document
// is the digest of the record's manifest.
func (d *download) download(ctx context.Context, upstream *client.Client, rec registry.ArchiveRecord,
	document digest.Digest) (*Source, error) {
	body, size, err := upstream.OpenArchive(ctx, string(ledger.Plugin), rec.Name, rec.Version)
	if err != nil {
		return nil, client.ExplainAnswer(rec.Subject(), evidence.Operation, err)
	}
	defer body.Close()
	transport := obtain.RecordClaim(rec.Subject(), evidence.File, "content_hash", rec.ContentHash)
	s, err := readZip(ctx, rec.Subject(),
		&host.ProgressReader{Body: body, What: rec.Subject(), Total: size, Tell: d.options.Progress},
		append(d.claims, transport)...)
	if err != nil {
		return nil, err
	}
	if s.source, err = upstream.ArchiveURL(string(ledger.Plugin), rec.Name, rec.Version); err != nil {
		return nil, err
	}
	framed, err := s.Bundle.Tree(ctx)
	if err != nil {
		return nil, nameSubject(rec.Subject(), err)
	}
	canonical, err := serverjson.Canonical(s.Bundle.Manifest)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, rec.Subject(), "", err)
	}
	compare := func(claim evidence.Claim, got digest.Digest, size int64, from string) {
		d.target.Outside = append(d.target.Outside,
			evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{got}, Size: size, From: from}))
	}
	compare(transport, s.Zip, int64(len(s.Packed)), upstream.Base)
	compare(obtain.RecordClaim(rec.Subject(), evidence.Document, "manifest", document), digest.FromBytes(canonical),
		int64(len(s.Bundle.Manifest)), plugin.ManifestFile)
	compare(obtain.RecordClaim(rec.Subject(), evidence.Tree, "content_integrity", rec.ContentIntegrity), framed,
		s.Bundle.Bytes(), plugin.DistDir+"/")
	return s, nil
}

// proveRecord adds the evidence of the registry's log about a record.
func (d *download) proveRecord(ctx context.Context, client *client.Client, rec registry.ArchiveRecord,
	document digest.Digest) error {
	h, o, target := d.host, d.options, d.target
	log, err := trail.Read(ctx, h, client, o.Registry, o.Log)
	if err != nil {
		return err
	}
	r := project.RecordLock{Kind: ledger.Plugin, Registry: o.Registry.Name(), Name: rec.Name, Version: rec.Version,
		Document: document, Integrity: rec.ContentIntegrity}
	report, err := log.ProveArchive(ctx, rec, &r)
	target.Outside = append(target.Outside, report...)
	return err
}
