package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// What follows states what is decided, apart from the table and its comment: an edit of both is an edit of
// the policy, and has to be made here too.

// findings are schemes, each with authorities: "file: lock machine; tree: lock".
type findings string

func (f findings) has(scheme evidence.Scheme, authority evidence.Authority) bool {
	for of := range strings.SplitSeq(string(f), ";") {
		name, authorities, _ := strings.Cut(strings.TrimSpace(of), ":")
		if name == string(scheme) {
			return slices.Contains(strings.Fields(authorities), string(authority))
		}
	}
	return false
}

// judged is what each flow knows how to judge. It refuses anything else.
var judged = map[Flow]findings{
	Generate: "file: registry",
	Verify:   "file: publisher registry; ownership: registry manifest; form: manifest",
	Send: "file: publisher registry record manifest; tree: record log manifest; dist: manifest; " +
		"facet-tar: record log manifest; api-surface: record manifest; document: record log; " +
		"log-key: machine; proof: log; cosignature: log; checkpoint: log; extent: manifest; " +
		"coverage: manifest; unhashed: manifest; ownership: registry manifest; form: manifest",
	Accept: "file: publisher registry record manifest; tree: record manifest; dist: manifest; " +
		"facet-tar: record manifest; document: publisher; ownership: registry manifest; extent: manifest; " +
		"coverage: manifest; unhashed: manifest; form: manifest",
	Pin: "file: registry record lock sidecar manifest verify machine; tree: lock machine; " +
		"go-module: lock; facet-tar: record log lock sidecar manifest; oci: lock; " +
		"api-surface: record log; surface: lock machine; document: record log lock; launch: lock; " +
		"pin: lock caller; approval: machine; status: registry record log; age: project; log-key: machine; proof: log; " +
		"cosignature: log; checkpoint: log; finding: log; import: lock; advisory: advisories; malware: advisories",
	Launch: "file: registry record lock sidecar manifest verify machine; tree: lock sidecar machine; " +
		"go-module: lock; facet-tar: record log lock sidecar manifest; document: record log lock; " +
		"launch: lock machine project; pin: lock; approval: machine; log-key: machine; proof: log; " +
		"cosignature: log; checkpoint: log; unhashed: lock; import: lock",
	Bare:    "file: lock verify machine; launch: lock machine; pin: lock; approval: machine",
	Session: "surface: lock",
	Install: "file: record lock sidecar manifest; facet-tar: record log lock sidecar manifest; oci: lock; " +
		"api-surface: log; document: record log lock; status: record log; log-key: lock machine; " +
		"proof: log; cosignature: log; checkpoint: log; source: lock manifest project; tag: lock; " +
		"installed: lock machine; finding: log; unhashed: lock; approval: machine",
	Check: "file: lock sidecar verify machine; tree: lock sidecar machine; facet-tar: log lock sidecar; " +
		"oci: lock; api-surface: log; surface: lock machine; document: record log lock; " +
		"launch: lock machine project; pin: lock; approval: machine; status: registry log; " +
		"log-key: lock machine; proof: log; cosignature: log; checkpoint: log; " +
		"source: lock manifest project; installed: lock machine; finding: log; unhashed: lock; " +
		"import: lock; advisory: advisories; malware: advisories",
	Scan: "facet-tar: log; document: log lock caller; launch: lock verify machine caller project; " +
		"pin: caller; approval: machine; transport: caller; secret: caller; access: machine caller; " +
		"log-key: machine; proof: log; cosignature: log; checkpoint: log; source: lock; unhashed: lock",
	Validate: "file: manifest; tree: manifest; dist: manifest; extent: manifest; coverage: manifest; " +
		"unhashed: manifest; form: manifest",
	Plugin: "file: publisher registry record lock manifest caller; tree: record log lock manifest; " +
		"dist: lock manifest; document: record log lock; status: record log; log-key: machine; " +
		"proof: log; cosignature: log; checkpoint: log; installed: lock machine; finding: log; " +
		"extent: lock manifest; coverage: manifest; unhashed: manifest; import: manifest; " +
		"permission: manifest caller; allowlist: caller; signature: lock manifest machine; " +
		"statement: manifest machine; capability: caller; tool: caller; form: manifest",
}

// usually is what an outcome means: bytes that differ from a claim, a claim that nobody makes, one that somebody
// opted out of, one that could not be compared, and one that is owed and gone.
var usually = map[evidence.Outcome]string{
	evidence.Match: "-", evidence.Mismatch: "integrity", evidence.Absent: "-", evidence.Waived: "policy",
	evidence.Unverifiable: "operation", evidence.Missing: "policy",
}

// unusual is where an outcome means something else.
var unusual = map[evidence.Outcome]map[string]map[Flow]findings{
	evidence.Match: {
		"policy": {
			Bare: "file: lock; launch: lock; pin: lock",
		},
	},
	evidence.Mismatch: {
		"warn": {
			Verify: "ownership: registry manifest",
			Send:   "cosignature: log; checkpoint: log; ownership: registry manifest",
			Pin: "file: machine; tree: machine; oci: lock; surface: lock; launch: lock; pin: lock; " +
				"finding: log; advisory: advisories",
			Check:   "advisory: advisories",
			Install: "installed: machine; finding: log",
			Scan:    "launch: verify; approval: machine; secret: caller",
			Plugin:  "finding: log; capability: caller; tool: caller",
		},
		"validation": {
			Validate: "form: manifest",
			Plugin:   "form: manifest",
		},
		"signature": {
			Pin:     "cosignature: log",
			Launch:  "cosignature: log",
			Install: "cosignature: log",
			Check:   "cosignature: log",
			Scan:    "cosignature: log",
			Plugin:  "cosignature: log; signature: lock manifest machine; statement: manifest machine",
		},
		"policy": {
			Send:   "unhashed: manifest",
			Accept: "ownership: registry manifest; unhashed: manifest",
			Pin: "pin: caller; approval: machine; status: registry record log; age: project; checkpoint: log; " +
				"import: lock; malware: advisories",
			Launch: "file: machine; launch: lock machine project; pin: lock; approval: machine; checkpoint: log; " +
				"unhashed: lock; import: lock",
			Bare: "file: lock machine; launch: lock machine; pin: lock; approval: machine",
			Install: "status: record log; checkpoint: log; source: lock manifest project; unhashed: lock; " +
				"approval: machine",
			Check: "file: machine; launch: lock machine project; pin: lock; status: registry log; " +
				"source: lock manifest project; unhashed: lock; import: lock; approval: machine; " +
				"checkpoint: log; installed: machine; finding: log; malware: advisories",
			Scan: "document: caller; launch: lock machine caller project; pin: caller; transport: caller; " +
				"access: machine caller; checkpoint: log; source: lock; unhashed: lock",
			Plugin: "status: record log; checkpoint: log; import: manifest; permission: manifest caller; " +
				"allowlist: caller",
		},
		"drift": {
			Pin:     "api-surface: record; surface: machine",
			Session: "surface: lock",
			Install: "oci: lock; tag: lock",
			Check:   "oci: lock; surface: lock machine",
		},
	},
	evidence.Absent: {
		"warn": {
			Verify:  "file: publisher; ownership: registry manifest; form: manifest",
			Send:    "log-key: machine; proof: log; checkpoint: log; coverage: manifest; ownership: registry manifest; form: manifest",
			Accept:  "coverage: manifest; form: manifest",
			Pin:     "file: record; api-surface: record; pin: caller; proof: log",
			Launch:  "file: verify machine; tree: lock; log-key: machine",
			Bare:    "file: verify",
			Install: "proof: log",
			Check: "tree: lock; facet-tar: lock; surface: machine; approval: machine; proof: log; " +
				"checkpoint: log; installed: machine",
			Scan:     "launch: verify; secret: caller; log-key: machine; unhashed: lock",
			Validate: "unhashed: manifest",
			Plugin: "proof: log; installed: machine; unhashed: manifest; allowlist: caller; capability: caller; " +
				"tool: caller",
		},
		"integrity": {
			Send:     "dist: manifest",
			Accept:   "dist: manifest",
			Pin:      "file: sidecar manifest; facet-tar: sidecar manifest; api-surface: log; document: lock",
			Launch:   "file: sidecar manifest; facet-tar: sidecar manifest; document: lock",
			Install:  "file: sidecar manifest; facet-tar: sidecar manifest; api-surface: log",
			Check:    "file: sidecar; facet-tar: sidecar; api-surface: log; document: lock",
			Scan:     "document: lock",
			Validate: "file: manifest; dist: manifest",
			Plugin:   "file: manifest; dist: manifest",
		},
		"signature": {
			Pin:     "cosignature: log",
			Launch:  "cosignature: log",
			Install: "cosignature: log",
			Check:   "cosignature: log",
			Scan:    "cosignature: log",
			Plugin:  "cosignature: log",
		},
		"policy": {
			Send: "file: record manifest; tree: record log; facet-tar: record log manifest; " +
				"document: record log; unhashed: manifest",
			Accept: "file: record manifest; tree: record; facet-tar: record manifest; ownership: registry manifest; " +
				"unhashed: manifest",
			Pin: "go-module: lock; facet-tar: record log; document: log; approval: machine; age: project; log-key: machine; " +
				"checkpoint: log; import: lock; advisory: advisories; malware: advisories",
			Launch: "file: record lock; go-module: lock; facet-tar: record log lock; document: record log; " +
				"launch: lock machine project; pin: lock; approval: machine; checkpoint: log; unhashed: lock; " +
				"import: lock",
			Bare: "launch: lock machine; pin: lock; approval: machine",
			Install: "file: record; facet-tar: record log; document: log; log-key: lock machine; checkpoint: log; " +
				"source: manifest project; installed: lock; unhashed: lock; approval: machine",
			Check: "file: lock; facet-tar: log; document: record log; launch: lock machine project; pin: lock; " +
				"log-key: lock machine; source: lock manifest project; installed: lock; unhashed: lock; " +
				"import: lock; advisory: advisories; malware: advisories",
			Scan: "facet-tar: log; document: log caller; launch: lock machine caller project; pin: caller; " +
				"transport: caller; access: machine caller; checkpoint: log; source: lock",
			Plugin: "file: record; tree: record log; document: record log lock; log-key: machine; " +
				"checkpoint: log; installed: lock; import: manifest; permission: manifest caller",
		},
		"drift": {
			Session: "surface: lock",
			Check:   "surface: lock",
		},
	},
	evidence.Waived: {
		"-": {
			Verify: "file: publisher",
			Accept: "ownership: registry",
			Pin:    "file: verify",
			Launch: "file: verify",
			Bare:   "file: verify",
			Check:  "approval: machine; installed: machine",
			Scan: "launch: verify caller; pin: caller; transport: caller; secret: caller; " +
				"access: machine caller",
		},
		"warn": {
			Send:    "file: publisher; api-surface: manifest; log-key: machine",
			Pin:     "api-surface: record; surface: machine; status: registry record log",
			Launch:  "launch: machine; approval: machine",
			Bare:    "launch: lock machine; pin: lock; approval: machine",
			Install: "status: record log; installed: machine",
			Check:   "file: verify; launch: lock machine; status: registry log",
			Scan:    "launch: lock",
			Plugin:  "status: record log",
		},
	},
	evidence.Unverifiable: {
		"-": {
			Launch: "import: lock",
		},
		"warn": {
			Verify:  "ownership: registry manifest",
			Send:    "tree: manifest; cosignature: log; checkpoint: log; ownership: registry manifest",
			Accept:  "tree: manifest",
			Pin:     "status: registry; import: lock",
			Install: "installed: machine",
			Check: "tree: lock; facet-tar: lock; oci: lock; status: registry; approval: machine; installed: machine; " +
				"import: lock",
			Scan:     "launch: verify caller; approval: machine; secret: caller; access: machine",
			Validate: "tree: manifest; unhashed: manifest",
			Plugin: "file: publisher; tree: manifest; unhashed: manifest; import: manifest; signature: manifest; " +
				"statement: manifest; capability: caller; tool: caller",
		},
		"integrity": {
			Send: "file: record manifest; tree: record log; dist: manifest; facet-tar: record log manifest; " +
				"api-surface: record; document: record log; proof: log; extent: manifest; coverage: manifest",
			Accept: "file: publisher record manifest; tree: record; dist: manifest; facet-tar: record manifest; " +
				"extent: manifest; coverage: manifest",
			Pin: "file: manifest; facet-tar: log; api-surface: log; document: log lock; status: log; " +
				"proof: log; finding: log",
			Launch: "file: manifest; facet-tar: log; document: log lock; proof: log",
			Install: "file: lock manifest; facet-tar: log; api-surface: log; document: log; status: log; " +
				"proof: log; finding: log",
			Check:    "facet-tar: log; api-surface: log; document: log lock; status: log; proof: log; finding: log",
			Scan:     "facet-tar: log; document: log lock; proof: log",
			Validate: "file: manifest; dist: manifest; extent: manifest; coverage: manifest",
			Plugin: "file: manifest; tree: record log lock; dist: lock manifest; document: log lock; status: log; " +
				"proof: log; finding: log; extent: lock manifest; coverage: manifest",
		},
		"validation": {
			Validate: "form: manifest",
			Plugin:   "form: manifest",
		},
		"signature": {
			Plugin: "signature: lock machine; statement: machine",
		},
		"policy": {
			Send:    "unhashed: manifest",
			Accept:  "unhashed: manifest",
			Pin:     "facet-tar: record; pin: lock caller; approval: machine; age: project",
			Launch:  "launch: machine project; pin: lock; approval: machine; unhashed: lock",
			Bare:    "file: lock machine; launch: lock machine; pin: lock; approval: machine",
			Install: "facet-tar: record; source: manifest project; unhashed: lock; approval: machine",
			Check:   "launch: machine project; pin: lock; source: manifest project; unhashed: lock",
			Scan:    "launch: machine project; pin: caller; transport: caller; access: caller; source: lock; unhashed: lock",
			Plugin:  "permission: manifest caller; allowlist: caller",
		},
		"drift": {
			Session: "surface: lock",
			Check:   "surface: lock machine",
		},
	},
	evidence.Missing: {
		"integrity": {
			Send:     "dist: manifest",
			Accept:   "dist: manifest",
			Pin:      "file: sidecar manifest; facet-tar: sidecar manifest; api-surface: log; document: lock",
			Launch:   "file: sidecar manifest; facet-tar: sidecar manifest; document: lock",
			Install:  "file: sidecar manifest; facet-tar: sidecar manifest; api-surface: log",
			Check:    "file: sidecar; facet-tar: sidecar; api-surface: log; document: lock",
			Scan:     "document: lock",
			Validate: "file: manifest; dist: manifest",
			Plugin:   "file: manifest; tree: lock; dist: manifest",
		},
	},
}

// Each flow decides about each finding as stated above, and refuses what it does not know.
func TestVerdicts(t *testing.T) {
	for flow, known := range judged {
		for _, scheme := range schemes {
			for _, authority := range authorities {
				for _, outcome := range outcomes {
					want := usually[outcome]
					for verdict, of := range unusual[outcome] {
						if of[flow].has(scheme, authority) {
							want = verdict
						}
					}
					if !known.has(scheme, authority) {
						want = "policy"
					}
					f := Judge(flow, Settings{}, evidence.Report{made(scheme, authority, outcome)}).Findings[0]
					if got := (decision{f.Class, f.Warning}).String(); got != want {
						t.Errorf("%s: %s by %s that is %s: %s, want %s", flow, scheme, authority, outcome, got, want)
					}
				}
			}
		}
	}
}
