package facets

import (
	"context"
	"errors"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// reviewChanges shows what a command would change of facets that somebody accepted before, and demands
// consent to it: what a model is to read changes with them.
func (a *Assembly) reviewChanges(ctx context.Context, all []Change, command []string) error {
	if !slices.ContainsFunc(all, Change.differs) {
		return nil
	}
	if err := a.compareTexts(ctx, all); err != nil {
		return err
	}
	consent := host.NoConsent
	if a.o.Confirm != nil {
		var err error
		if consent, err = a.o.Confirm(all); err != nil {
			return err
		}
	}
	if a.o.Dry || consent != host.NoConsent {
		return nil
	}
	return noConsentError(all, command)
}

// noConsentError is the error for changes that nobody consented to. Its hint names the commands that
// show them again and take them.
func noConsentError(all []Change, command []string) error {
	var changed []string
	for _, c := range all {
		if c.differs() {
			changed = append(changed, c.Name)
		}
	}
	subject := changed[0]
	if n := len(changed); n > 1 {
		subject = evidence.Count(n, "facet")
	}
	line := host.QuoteArguments(append([]string{"hallmark"}, command...))
	return evidence.Errorf(evidence.Refused, subject,
		"'"+line+" --dry-run' shows what changes, and '"+line+" --yes' consents to it",
		errors.New("would be changed, and nobody consented; nothing was written"))
}
