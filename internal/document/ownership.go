package document

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// ownerLabel is the label by which an image names its server.
const ownerLabel = "io.modelcontextprotocol.server.name"

// addOwners adds to the report about the packages of doc which server each says that it is for, where its files do not
// say that.
func addOwners(ctx context.Context, f *fetch.Client, doc *serverjson.Document,
	report evidence.Report) (evidence.Report, error) {
	for _, p := range doc.Packages {
		ref, err := p.Ref()
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, p.Pointer, "", err)
		}
		// whose owner is known to no registry
		unknown := ref.Kind() == artifact.GitHub || ref.Kind() == artifact.HTTPS ||
			slices.ContainsFunc(report, func(e evidence.Evidence) bool {
				return e.Outcome == evidence.Unverifiable && gives(p, e)
			})
		if unknown || HasOwner(report, p) {
			continue
		}
		owner, err := AskOwner(ctx, f, doc.Name, ref, report)
		if err != nil {
			return nil, err
		}
		report = append(report, owner)
	}
	return report, nil
}

// CheckOwner judges whether the package ref of doc says in its own file that it is for the server of doc: a registry
// refuses it otherwise.
func CheckOwner(ctx context.Context, h *host.Host, doc *serverjson.Document, ref artifact.Ref) (policy.Verdict, error) {
	report, err := ObserveAll(ctx, h.Fetch, []*Subject{{Ref: ref, Of: doc}}, nil)
	if err != nil {
		return policy.Verdict{}, err
	}
	report = slices.DeleteFunc(report, func(e evidence.Evidence) bool {
		return e.Scheme != evidence.Ownership && e.Scheme != evidence.Form
	})
	if len(report) == 0 {
		report = evidence.Report{evidence.Fact(evidence.Claim{Subject: ref.String(), Scheme: evidence.Ownership,
			Authority: evidence.Manifest, Text: doc.Name, Where: "the package's description, mcp-name"}, "")}
	}
	return policy.Judge(policy.Verify, policy.Settings{}, report), nil
}

// HasOwner reports whether the report has which server package p is for, read from its own files.
func HasOwner(report evidence.Report, p serverjson.Package) bool {
	return slices.ContainsFunc(report, func(e evidence.Evidence) bool {
		return e.Scheme == evidence.Ownership && e.Authority == evidence.Manifest && gives(p, e)
	})
}

// gives reports whether e is about package p, or a file of it.
func gives(p serverjson.Package, e evidence.Evidence) bool {
	ref, err := artifact.Parse(e.Subject)
	return err == nil && p.Gives(ref)
}

// AskOwner asks the registry of a package which server the package is for, and compares that with server. An image is
// asked by the digest that report has of it, if it has one.
func AskOwner(ctx context.Context, f *fetch.Client, server string, ref artifact.Ref,
	report evidence.Report) (evidence.Evidence,
	error) {
	claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.Ownership, Authority: evidence.Registry,
		Text: server}
	var owner fetch.Owner
	var err error
	switch ref.Kind() {
	case artifact.NPM:
		var version *fetch.NPMVersion
		owner = fetch.Owner{Named: true, Where: "the npm registry, mcpName of package.json"}
		if version, err = f.NPM(ctx, ref); err == nil {
			owner.Text = version.MCPName
		}
	case artifact.PyPI, artifact.NuGet, artifact.Cargo:
		owner.Where = "the package's description, mcp-name"
		owner.Text, err = f.Description(ctx, ref)
	case artifact.OCI:
		owner = fetch.Owner{Named: true, Where: "the image's label " + ownerLabel}
		owner.Text, err = f.OCILabel(ctx, observedImage(ref, report), ownerLabel)
	default:
		return evidence.CannotVerify(claim, evidence.Unsupported, "packages of type "+string(ref.Kind())+
			" cannot be checked yet"), nil
	}
	var outside *wire.Error
	switch {
	case errors.As(err, &outside) && ctx.Err() == nil:
		claim.Where = owner.Where
		e := evidence.CannotVerify(claim, outside.Cause, Reason(outside))
		e.Fix = outside.Hint
		return e, nil
	case err != nil:
		return evidence.Evidence{}, err
	}
	return compareOwner(claim, owner), nil
}

// observedImage is ref by the digest that was computed of it.
func observedImage(ref artifact.Ref, report evidence.Report) artifact.Ref {
	for _, e := range report {
		if e.Scheme == evidence.File && ref.Digest().IsZero() && !e.Observed.SHA256().IsZero() &&
			SameRef(e.Subject, ref) {
			if exact, err := artifact.NewOCI(ref.Name() + "@" + e.Observed.SHA256().String()); err == nil {
				return exact
			}
		}
	}
	return ref
}

// compareOwner compares the server of claim with the one that a package names.
func compareOwner(claim evidence.Claim, owner fetch.Owner) evidence.Evidence {
	claim.Where = owner.Where
	found := owner.Text
	switch {
	case owner.Named:
	case fetch.OwnerToken(owner.Text, claim.Text):
		found = claim.Text
	default:
		if found = fetch.FirstServer(owner.Text); found == claim.Text {
			found = "" // spelled in a way that the official registry does not read
		}
	}
	return evidence.Fact(claim, Clip(found, MaxReason)) // no valid name is as long as the limit
}

// readOwner is evidence of the server that a download says it is for, and of what its registry says if that is another.
// There is none if the file cannot be read, or its description names no server; its registry is asked then.
func (s *Subject) readOwner(d *fetch.Download, limit int64) evidence.Report {
	if s.Of == nil {
		return nil
	}
	claim := evidence.Claim{Subject: d.Ref.String(), Scheme: evidence.Ownership, Authority: evidence.Manifest,
		Text: s.Of.Name}
	owner, err := fetch.ReadOwner(d.Path(), d.Ref, limit)
	switch {
	case err != nil && d.Ref.Kind() == artifact.NPM:
		return formEvidence(d, "its package.json cannot be read as npm does, so that only its registry says for "+
			"which server it is: "+
			err.Error())
	case err != nil:
		return s.readBundle(d, limit)
	}
	found := compareOwner(claim, owner)
	if found.Outcome == evidence.Absent && !owner.Named {
		return nil // a description may have been given to the registry beside the file
	}
	report := evidence.Report{found}
	if d.NPM != nil && d.NPM.MCPName != "" && d.NPM.MCPName != owner.Text {
		claim.Authority = evidence.Registry
		report = append(report, compareOwner(claim, fetch.Owner{Text: d.NPM.MCPName, Named: true,
			Where: "the npm registry, mcpName of package.json"}))
	}
	return report
}

// readBundle is evidence that a file which the document calls an MCPB bundle is none, or is one of another version.
func (s *Subject) readBundle(d *fetch.Download, limit int64) evidence.Report {
	i := slices.IndexFunc(s.Of.Packages, func(p serverjson.Package) bool {
		return p.RegistryType == model.RegistryTypeMCPB && p.Gives(d.Ref)
	})
	if i < 0 {
		return nil
	}
	states, err := fetch.ReadBundleVersion(d.Path(), limit)
	if err != nil {
		return formEvidence(d, "it is no MCPB bundle: "+err.Error())
	}
	bare := func(version string) string {
		version, _, _ = strings.Cut(version, "+") // of a build: no other version
		return strings.TrimPrefix(strings.ToLower(version), "v")
	}
	if states == "" || bare(states) == bare(s.Of.Packages[i].Version) || bare(states) == bare(s.Of.Version) {
		return nil
	}
	report := formEvidence(d, fmt.Sprintf("its manifest.json says version %+q, and the document %+q", states,
		cmp.Or(s.Of.Packages[i].Version, s.Of.Version)))
	report[0].Fix = "build the bundle of this version, or write the version that it has"
	return report
}

// formEvidence is evidence that a file does not have the form of its kind.
func formEvidence(d *fetch.Download, reason string) evidence.Report {
	e := evidence.Fact(evidence.Claim{Subject: d.Ref.String(), Scheme: evidence.Form, Authority: evidence.Manifest}, "")
	e.Reason = Clip(reason, MaxReason)
	return evidence.Report{e}
}

// joinOwners leaves one piece of evidence for all files of a release that name the same server.
func joinOwners(report evidence.Report) evidence.Report {
	type said struct {
		release   artifact.Ref
		authority evidence.Authority
		found     string
	}
	seen := map[said]bool{}
	return slices.DeleteFunc(report, func(e evidence.Evidence) bool {
		ref, err := artifact.Parse(e.Subject)
		if e.Scheme != evidence.Ownership || err != nil {
			return false
		}
		key := said{ref.Release(), e.Authority, e.Observed.Text}
		again := seen[key]
		seen[key] = true
		return again
	})
}
