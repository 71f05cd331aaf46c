package trail

import (
	"errors"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/machine"
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

// Rules returns the rules of the project in dir for its registry, or those for the registry at base
// if that is not empty.
func Rules(dir, base string) (project.Registry, error) {
	if base != "" {
		return project.Registry{URL: base}, nil
	}
	path := dir + "/" + project.ConfigFile
	data, err := host.ReadFile(path, project.MaxConfig)
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
	return project.Registry{},
		evidence.Errorf(evidence.Validation, "", "name it with --registry, or in "+project.ConfigFile,
			errors.New("no registry is configured"))
}

// VerifyProof verifies a proof that lies in a file, without the network: under key or, if
// that is empty, under the key of its origin that this machine accepted.
func VerifyProof(h *host.Host, name string, key string) (*ProvenRecord, error) {
	text, err := host.ReadNamed(name, ledger.MaxProof)
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
	logs, err := KnownLogs(h)
	if err != nil {
		return nil, err
	}
	keys := []string{key}
	if key == "" {
		keys = keysOf(logs, p.Checkpoint)
	}
	err = evidence.Errorf(evidence.Refused, name, "give the log's key with --log-key",
		errors.New("this machine does not know the log"))
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

// keysOf returns the keys that this machine accepted for logs with the origin of a checkpoint.
func keysOf(logs *machine.Logs, checkpoint []byte) (keys []string) {
	origin, _, _ := strings.Cut(string(checkpoint), "\n")
	for _, known := range logs.Registries {
		if v, err := ledger.ParseVerifier(known.Key); err == nil && v.Name() == origin &&
			!slices.Contains(keys, known.Key) {
			keys = append(keys, known.Key)
		}
	}
	slices.Sort(keys)
	return keys
}
