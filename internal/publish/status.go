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
	if o.Archive != "" {
		return setArchiveStatus(ctx, o, subject)
	}
	before, err := readVersions(ctx, o)
	if trail.IsNotFound(err) {
		return 0, evidence.Errorf(evidence.Validation, subject, "if it is no server but an archive, say which: "+
			"--archive facet, --archive artifact (a server packed from source) or --archive plugin", err)
	}
	if err != nil {
		return 0, client.ExplainAnswer(subject, evidence.Validation, err)
	}
	if o.Confirm != nil {
		states, err := statusesOf(before)
		if err != nil {
			return 0, evidence.Errorf(evidence.Operation, subject, "", err)
		}
		if err := o.Confirm(states); err != nil {
			return 0, err
		}
	}
	change := client.StatusChange{Status: o.Status, Message: o.Message, Token: o.Token}
	if o.Version == "" {
		n, err := o.Registry.SetAllStatuses(ctx, o.Name, change)
		return n, client.ExplainAnswer(subject, evidence.Validation, err)
	}
	if _, err := o.Registry.SetStatus(ctx, o.Name, o.Version, change); err != nil {
		return 0, client.ExplainAnswer(subject, evidence.Validation, err)
	}
	return 1, nil
}

// readVersions reads the records of a server whose status is to change, deleted ones too.
func readVersions(ctx context.Context, o StatusOptions) ([]registry.Envelope, error) {
	if o.Version == "" {
		return o.Registry.VersionsDeleted(ctx, o.Name)
	}
	one, err := o.Registry.GetDeleted(ctx, o.Name, o.Version)
	if err != nil {
		return nil, err
	}
	return []registry.Envelope{*one}, nil
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

// setArchiveStatus is [SetStatus] for archives.
func setArchiveStatus(ctx context.Context, o StatusOptions, subject string) (int, error) {
	kind := string(o.Archive)
	if !o.Archive.Publishes() || o.Archive == ledger.Server {
		return 0, evidence.Errorf(evidence.Validation, subject, "",
			fmt.Errorf("%+q is none of facet, artifact and plugin", kind))
	}
	var before []registry.ArchiveRecord
	var err error
	if o.Version == "" {
		before, err = o.Registry.ArchiveVersionsDeleted(ctx, kind, o.Name)
	} else {
		var one registry.ArchiveRecord
		if one, err = o.Registry.ArchiveRecord(ctx, kind, o.Name, o.Version); err == nil {
			before = []registry.ArchiveRecord{one}
		}
	}
	if err != nil {
		return 0, client.ExplainAnswer(subject, evidence.Validation, err)
	}
	if o.Confirm != nil {
		var states []VersionStatus
		for _, rec := range before {
			states = append(states, VersionStatus{Version: rec.Version, Status: rec.Status})
		}
		if err := o.Confirm(states); err != nil {
			return 0, err
		}
	}
	change := client.StatusChange{Status: o.Status, Message: o.Message, Token: o.Token}
	n, err := o.Registry.SetArchiveStatus(ctx, kind, o.Name, o.Version, change)
	if err != nil {
		return n, client.ExplainAnswer(subject, evidence.Validation, err)
	}
	return n, nil
}
