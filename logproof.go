package hallmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// ProvenRecord is a record with the proof that it is in its registry's log.
type ProvenRecord struct {
	Verdict policy.Verdict
	Proof   []byte // C2SP tlog-proof
	ledger.Proven
}

// LogRules are the rules of the project in dir for its registry, or those for the registry
// at base, if that is not empty.
func LogRules(dir, base string) (project.Registry, error) {
	if base != "" {
		return project.Registry{URL: base}, nil
	}
	path := dir + "/" + project.ConfigFile
	data, err := readFile(path, project.MaxConfig)
	if err != nil {
		return project.Registry{}, err
	}
	if data != nil {
		config, err := project.ParseConfig(data)
		if err != nil {
			return project.Registry{}, err
		}
		if config.Registry.URL != "" {
			return config.Registry, nil
		}
	}
	return project.Registry{}, evidence.Errorf(evidence.Validation, "", "name it with --registry, or in "+project.ConfigFile, errors.New("no registry is configured"))
}

// LogProof fetches the record "name@version" and the proof that it is in the registry's
// log, and verifies them.
func LogProof(ctx context.Context, h *Host, rules project.Registry, named string, o LogOptions) (*ProvenRecord, error) {
	name, version, ok := cutLast(named, "@")
	if !ok || name == "" || version == "" || version == registry.Latest {
		return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", named), "write NAME@VERSION", errors.New("a record is named with an exact version"))
	}
	w := emptyWorkspace(h, "")
	w.config.Registry, w.logOptions = rules, o
	envelope, err := w.registry().GetDeleted(ctx, name, version)
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), named, "", err)
	}
	r, err := w.record(*envelope)
	if err != nil {
		return nil, err
	}
	if err := w.prove(ctx, r); err != nil {
		return nil, err
	}
	// What became of it later does not matter here: that it was published stays proven.
	r.report = slices.DeleteFunc(r.report, func(e evidence.Evidence) bool {
		return e.Scheme == evidence.Status || e.Scheme == evidence.Finding
	})
	out := &ProvenRecord{Verdict: policy.Judge(policy.Check, policy.Settings{}, r.report), Proof: []byte(r.lock.Proof)}
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	if r.lock.Proof == "" {
		return out, evidence.Errorf(evidence.Refused, named, "", errors.New("the registry has no log"))
	}
	p, err := ledger.ParseProof(out.Proof)
	if err != nil {
		return out, err
	}
	out.Proven, err = p.Verify(w.log.trust)
	return out, err
}

// VerifyProof verifies a proof that lies in a file, without the network: under key or, if
// that is empty, under the key of its origin that this machine accepted.
func VerifyProof(h *Host, name string, key string) (*ProvenRecord, error) {
	text, err := readNamed(name, ledger.MaxProof)
	if err == nil && text == nil {
		err = evidence.Errorf(evidence.Validation, name, "", errors.New("no such file"))
	}
	if err != nil {
		return nil, err
	}
	p, err := ledger.ParseProof(text)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, name, "", err)
	}
	logs, err := h.logs()
	if err != nil {
		return nil, err
	}
	keys := []string{key}
	if key == "" {
		keys = keysNamed(logs, p.Checkpoint)
	}
	err = evidence.Errorf(evidence.Refused, name, "give the log's key with --log-key", errors.New("this machine does not know the log"))
	for _, key := range keys { // of two logs with one name it is proven by its own
		trust, bad := ledger.NewTrust(key, nil, 0)
		if bad != nil {
			return nil, evidence.Errorf(evidence.Validation, name, "", bad)
		}
		proven, bad := p.Verify(trust)
		if bad == nil {
			return &ProvenRecord{Proof: text, Proven: proven}, nil
		}
		kind := evidence.Integrity
		if errors.Is(bad, ledger.ErrSignature) {
			kind = evidence.Signature
		}
		err = evidence.Errorf(kind, name, "", bad)
	}
	return nil, err
}

// keysNamed are the keys that this machine accepted of logs with the origin of a
// checkpoint.
func keysNamed(logs *project.Logs, checkpoint []byte) (keys []string) {
	origin, _, _ := strings.Cut(string(checkpoint), "\n")
	for _, known := range logs.Registries {
		if v, err := ledger.ParseVerifier(known.Key); err == nil && v.Name() == origin && !slices.Contains(keys, known.Key) {
			keys = append(keys, known.Key)
		}
	}
	slices.Sort(keys)
	return keys
}
