package publish

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// VersionStatus is the status of one version before it changes.
type VersionStatus struct {
	Version string          `json:"version"`
	Status  registry.Status `json:"status"`
}

// StatusOptions are for [SetStatus].
type StatusOptions struct {
	Registry *client.Client
	Token    string
	Archive  ledger.Kind // of an archive: a facet, an artifact or a plugin; "" is a server
	Name     string
	Version  string // "" is all versions
	Status   registry.Status
	Message  string

	// Confirm gets the present statuses before anything changes; its error ends the change. May
	// be nil.
	Confirm func([]VersionStatus) error
}

// SetStatus changes the status of one version or of all, and returns how many changed.
func SetStatus(ctx context.Context, o StatusOptions) (int, error) {
	subject := o.Name
	if o.Version != "" {
		subject += "@" + o.Version
	}
	switch {
	case o.Status != registry.Active && o.Status != registry.Deprecated && o.Status != registry.Deleted:
		return 0, evidence.Errorf(evidence.Validation, subject, "",
			fmt.Errorf("the status %+q is none of active, deprecated and deleted", string(o.Status)))
	case o.Status == registry.Active && o.Message != "":
		return 0, evidence.Errorf(evidence.Validation, subject, "",
			errors.New("a message does not go with the status active"))
	case utf8.RuneCountInString(o.Message) > registry.MaxStatusMessage:
		return 0, evidence.Errorf(evidence.Validation, subject, "",
			fmt.Errorf("the message is longer than %d characters", registry.MaxStatusMessage))
	}
	if o.Archive != "" && (!o.Archive.Publishes() || o.Archive == ledger.Server) {
		return 0, evidence.Errorf(evidence.Validation, subject, "",
			fmt.Errorf("%+q is none of facet, artifact and plugin", string(o.Archive)))
	}
	before, err := readStatuses(ctx, o)
	if o.Archive == "" && trail.IsNotFound(err) {
		return 0, evidence.Errorf(evidence.Validation, subject, "if it is no server but an archive, say which: "+
			"--archive facet, --archive artifact (a server packed from source) or --archive plugin", err)
	}
	if err != nil {
		return 0, client.ExplainAnswer(subject, evidence.Validation, err)
	}
	if o.Confirm != nil {
		if err := o.Confirm(before); err != nil {
			return 0, err
		}
	}
	n, err := sendStatus(ctx, o)
	return n, client.ExplainAnswer(subject, evidence.Validation, err)
}

// sendStatus sends the change, and returns how many versions changed.
func sendStatus(ctx context.Context, o StatusOptions) (int, error) {
	change := client.StatusChange{Status: o.Status, Message: o.Message, Token: o.Token}
	switch {
	case o.Archive != "":
		return o.Registry.SetArchiveStatus(ctx, string(o.Archive), o.Name, o.Version, change)
	case o.Version == "":
		return o.Registry.SetAllStatuses(ctx, o.Name, change)
	}
	if _, err := o.Registry.SetStatus(ctx, o.Name, o.Version, change); err != nil {
		return 0, err
	}
	return 1, nil
}

// readStatuses reads the statuses that are to change, those of deleted versions too.
func readStatuses(ctx context.Context, o StatusOptions) ([]VersionStatus, error) {
	if o.Archive != "" {
		return readArchiveStatuses(ctx, o)
	}
	if o.Version == "" {
		all, err := o.Registry.VersionsDeleted(ctx, o.Name)
		if err != nil {
			return nil, err
		}
		return statusesOf(all)
	}
	one, err := o.Registry.GetDeleted(ctx, o.Name, o.Version)
	if err != nil {
		return nil, err
	}
	return statusesOf([]registry.Envelope{*one})
}

// statusesOf returns the versions and statuses of records.
func statusesOf(records []registry.Envelope) (states []VersionStatus, err error) {
	for _, env := range records {
		_, version, err := registry.ReadName(env.Server)
		if err != nil {
			return nil, err
		}
		s := VersionStatus{Version: version}
		if env.Meta.Official != nil {
			s.Status = env.Meta.Official.Status
		}
		states = append(states, s)
	}
	return states, nil
}

// readArchiveStatuses is readStatuses for archives.
func readArchiveStatuses(ctx context.Context, o StatusOptions) (states []VersionStatus, err error) {
	var before []registry.ArchiveRecord
	if o.Version == "" {
		before, err = o.Registry.ArchiveVersionsDeleted(ctx, string(o.Archive), o.Name)
	} else {
		var one registry.ArchiveRecord
		one, err = o.Registry.ArchiveRecord(ctx, string(o.Archive), o.Name, o.Version)
		before = []registry.ArchiveRecord{one}
	}
	for _, rec := range before {
		states = append(states, VersionStatus{Version: rec.Version, Status: rec.Status})
	}
	return states, err
}
