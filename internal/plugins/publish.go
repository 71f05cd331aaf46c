package plugins

import (
	"bytes"
	"context"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Publish sends the plugin at path to the registry: a zip unchanged, a directory packed as 'plugin
// pack' packs it. It first recomputes all that the manifest claims about its files. Then it judges
// the record that the registry made, and the proof that the log has it.
func Publish(ctx context.Context, h *host.Host, path string, o publish.Options) (*publish.ArchivePublication, error) {
	s, err := Read(ctx, path)
	if err != nil {
		return nil, err
	}
	if s.Packed == nil {
		zip, err := s.Pack(ctx, path)
		if err != nil {
			return nil, err
		}
		// Judge the bytes that are sent, not the directory that they were packed from.
		if s, err = readZip(ctx, path, bytes.NewReader(zip)); err != nil {
			return nil, err
		}
	}
	m, err := s.Parse(path)
	if err != nil {
		return nil, err
	}
	if _, err := s.checkSignatures(h, m); err != nil {
		return nil, err
	}
	r, report, err := plugin.Observe(ctx, s.Bundle, m)
	if err != nil {
		return nil, nameSubject(path, err)
	}
	canonical, err := serverjson.Canonical(m.Raw)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, path, "", err)
	}
	sent, err := publish.SendArchive(ctx, h, publish.Outgoing{
		Kind: ledger.Plugin, Name: m.Name, Version: m.Version, Document: digest.FromBytes(canonical),
		Integrity: r.Tree, Contents: s.Bundle.Bytes(), Hash: s.Zip, Size: int64(len(s.Packed)),
		Body: bytes.NewReader(s.Packed),
	}, report, o)
	if sent != nil {
		sent.Profile, sent.Unsigned = string(r.Profile), len(m.Signatures) == 0
	}
	return sent, err
}
