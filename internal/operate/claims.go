package operate

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// checkClaims is the registry's half of a publish: it fetches every file for which doc claims a
// hash, compares the file with the claim and with its own registry's claims, and reads which server
// each package belongs to: from the files that it fetched, else from what their registry says of them. Packages without
// a claim are not downloaded.
func checkClaims(ctx context.Context, client *fetch.Client, doc *serverjson.Document,
	bundleHosts []string) (evidence.Report, error) {
	client = client.For(doc.Name)
	doc.AtRegistries(client.AsksAt)
	claimed, report, err := document.Subjects(client, doc, "server.json", false)
	if err != nil {
		return nil, err
	}
	claimed = slices.DeleteFunc(claimed, func(s *document.Subject) bool {
		if !isBundle(s.Ref) || allowedBundle(s.Ref, doc.Name, bundleHosts) {
			return false
		}
		// Judge the host before fetching: a publisher must not choose what the registry requests,
		// nor learn what a host inside its network answers.
		for _, c := range s.Claims {
			report = append(report, evidence.CannotVerify(c, evidence.Unsupported, "bundles may not come from "+
				bundleHost(s.Ref)+": "+sayBundleHosts(doc.Name, bundleHosts)))
		}
		return true
	})
	more, err := document.ObserveAll(ctx, client, claimed, nil)
	if err != nil {
		return nil, err
	}
	report = append(report, more...)
	for _, p := range doc.Packages {
		ref, err := p.Ref()
		if err != nil {
			return nil, err
		}
		unclaimed, err := listUnclaimed(ctx, client, ref, report)
		if err != nil {
			return nil, err
		}
		report = append(report, unclaimed...)
		if document.HasOwner(report, p) {
			continue
		}
		owner, err := checkOwnership(ctx, client, doc.Name, ref, bundleHosts, report...)
		if err != nil {
			return nil, err
		}
		report = append(report, owner)
	}
	return report, nil
}

// listUnclaimed returns evidence of each file of ref that report does not mention.
func listUnclaimed(ctx context.Context, client *fetch.Client, ref artifact.Ref,
	report evidence.Report) (evidence.Report, error) {
	known := func(ref artifact.Ref) bool {
		return slices.ContainsFunc(report, func(e evidence.Evidence) bool { return document.SameRef(e.Subject, ref) })
	}
	if known(ref) {
		return nil, nil
	}
	claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.File, Authority: evidence.Publisher}
	files, err := client.Files(ctx, ref)
	var outside *wire.Error
	switch {
	case errors.As(err, &outside) && ctx.Err() == nil:
		return evidence.Report{evidence.CannotVerify(claim, outside.Cause, document.Reason(outside))}, nil
	case err != nil:
		return nil, err
	}
	var unclaimed evidence.Report
	for _, file := range files {
		if !known(file) {
			claim.Subject = file.String()
			unclaimed = append(unclaimed, evidence.Compare(claim, evidence.Observed{}))
		}
	}
	return unclaimed, nil
}

// checkOwnership asks the registry of a package which server it belongs to, and compares that with name. known is what
// was observed of the package.
func checkOwnership(ctx context.Context, client *fetch.Client, name string, ref artifact.Ref,
	bundleHosts []string, known ...evidence.Evidence) (evidence.Evidence, error) {
	if !isBundle(ref) {
		return document.AskOwner(ctx, client, name, ref, known)
	}
	// A bundle names no server, so that only its host can be checked.
	claim := evidence.Claim{Subject: ref.String(), Scheme: evidence.Ownership, Authority: evidence.Registry,
		Where: "the hosts that bundles may come from", Text: bundleHost(ref)}
	if allowedBundle(ref, name, bundleHosts) {
		return evidence.Fact(claim, claim.Text), nil
	}
	e := evidence.Fact(claim, "")
	e.Reason = sayBundleHosts(name, bundleHosts)
	return e, nil
}

// isBundle reports whether ref is a plain download, which belongs to no package registry.
func isBundle(ref artifact.Ref) bool {
	return ref.Kind() == artifact.GitHub || ref.Kind() == artifact.HTTPS
}

// OwnDomain, among the hosts of an operator, stands for the domain that a server's name begins with, and those below
// it.
const OwnDomain = "own"

// allowedBundle reports whether ref is at one of the two well-known hosts of bundles, or
// at one of the operator's. Whoever may publish a name has proven that its domain is theirs.
func allowedBundle(ref artifact.Ref, name string, hosts []string) bool {
	host := bundleHost(ref)
	return slices.Contains(wellKnownHosts(), host) || slices.Contains(hosts, host) && host != OwnDomain ||
		slices.Contains(hosts, OwnDomain) && (host == domainOf(name) || strings.HasSuffix(host, "."+domainOf(name)))
}

// wellKnownHosts are the official registry's.
func wellKnownHosts() []string {
	return []string{document.HostOf(model.RegistryURLGitHub), document.HostOf(model.RegistryURLGitLab)}
}

// domainOf returns the domain that a server's name begins with: example.com for com.example/notes.
func domainOf(name string) string {
	namespace, _, _ := strings.Cut(name, "/")
	labels := strings.Split(strings.ToLower(namespace), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// sayBundleHosts says where a registry takes the bundles of a server from.
func sayBundleHosts(name string, hosts []string) string {
	all := wellKnownHosts()
	for _, host := range hosts {
		if host == OwnDomain {
			host = domainOf(name) + " and names below it"
		}
		all = append(all, host)
	}
	return "this registry takes them from " + strings.Join(all, ", ")
}

// bundleHost returns the host of a bundle.
func bundleHost(ref artifact.Ref) string {
	if ref.Normal().Kind() == artifact.GitHub { // its normal form has no URL
		return document.HostOf(model.RegistryURLGitHub)
	}
	return document.HostOf(ref.Normal().URL())
}
