package obtain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// FetchProof fetches the record "name@version" and the proof that it is in the registry's
// log, and verifies them.
func FetchProof(ctx context.Context, h *host.Host, rules project.Registry, named string,
	o trail.Options) (*trail.ProvenRecord, error) {
	name, version, ok := host.CutLast(named, "@")
	if !ok || name == "" || version == "" || version == registry.Latest {
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", named), "write NAME@VERSION",
			errors.New("a record is named with an exact version"))
	}
	w := workspace.Empty(h, "")
	w.Config.Registry = rules
	envelope, err := w.Registry().GetDeleted(ctx, name, version)
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), named, "", err)
	}
	r, err := RecordFromEnvelope(w, *envelope)
	if err != nil {
		return nil, err
	}
	log, err := addRecordProof(ctx, w.Logs(o), r)
	if err != nil {
		return nil, err
	}
	// Later entries do not matter here: the record stays proven to be published.
	r.Report = slices.DeleteFunc(r.Report, func(e evidence.Evidence) bool {
		return e.Scheme == evidence.Status || e.Scheme == evidence.Finding
	})
	out := &trail.ProvenRecord{Verdict: policy.Judge(policy.Check, policy.Settings{}, r.Report),
		Proof: []byte(r.Lock.Proof)}
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	if r.Lock.Proof == "" {
		return out, evidence.Errorf(evidence.Refused, named, "", errors.New("the registry has no log"))
	}
	p, err := ledger.ParseProof(out.Proof)
	if err != nil {
		return out, err
	}
	out.Proven, err = p.Verify(log.Trust)
	return out, err
}
