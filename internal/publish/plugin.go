package publish

import (
	"bytes"
	"context"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Plugin sends the plugin at path: a zip as it is, a directory as 'plugin pack' packs it. It
// recomputes all claims of the manifest before, and judges the registry's record and the proof
// that the log has it afterwards.
func Plugin(ctx context.Context, h *host.Host, path string, o Options) (*ArchivePublication, error) {
	s, err := plugins.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	if s.Packed == nil {
		zip, err := s.Pack(ctx, path)
		if err != nil {
			return nil, err
		}
		// What is judged is what is sent.
		if s, err = plugins.ReadZip(ctx, path, bytes.NewReader(zip)); err != nil {
			return nil, err
		}
	}
	m, err := s.Parse(path)
	if err != nil {
		return nil, err
	}
	r, report, err := plugin.Observe(ctx, s.Bundle, m)
	if err != nil {
		return nil, plugins.NameSubject(path, err)
	}
	canonical, err := serverjson.Canonical(m.Raw)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, path, "", err)
	}
	return sendArchive(ctx, h, upload{
		kind: ledger.Plugin, name: m.Name, version: m.Version, document: digest.FromBytes(canonical),
		integrity: r.Tree, contents: s.Bundle.Bytes(), hash: s.Zip, size: int64(len(s.Packed)),
		body: bytes.NewReader(s.Packed),
	}, report, o)
}
