package operate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	registryblobs "github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/log"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// openLog opens the key of the log and starts to sign checkpoints, each of which must extend the
// last one that the key signed. A broken log is served as far as it was signed, and accepts no
// publish; its error is logged.
func openLog(ctx context.Context, o ServeOptions, entries registry.Entries, blobs registry.Blobs) (*log.Log, error) {
	path := o.LogKeyFile
	if path == "" {
		path = filepath.Join(o.Data, "log.key")
	}
	var heads registry.Heads = log.HeadsOf(path)
	if bucket, ok := blobs.(*registryblobs.S3); ok {
		heads = log.BesideHeads{Heads: bucket.Heads(), Beside: heads}
	}
	key, err := openLogKey(ctx, o, path, entries, heads)
	if err != nil {
		return nil, explainLogError(path, err)
	}
	switch {
	case o.FirstLog:
		if err := log.Begin(ctx, entries, heads, key); err != nil {
			return nil, explainLogError(path, err)
		}
	case o.ReplaceLog != "":
		if err := log.Replace(ctx, heads, key, o.ReplaceLog); err != nil {
			return nil, explainLogError(path, err)
		}
	}
	log, err := log.Open(ctx, entries, heads, key, o.Logger)
	if log == nil {
		return nil, explainLogError(path, err)
	}
	o.Logger.Info("log", "origin", key.Name(), "size", log.Head().Size, "clients_pin", key.VerifierKey)
	return log, nil
}

// logKeyHint is for a file that is not the key of a log.
const logKeyHint = "--log-key-file, if given, names a key that 'serve' made, or, with --log-origin, 64 hexadecimal " +
	"digits, such as 'openssl rand -hex 32' prints"

// openLogKey reads the key at path. It creates a key only for a new log: no key may have signed the log
// of the database before, and heads must not hold a checkpoint of another key.
func openLogKey(ctx context.Context, o ServeOptions, path string, entries registry.Entries,
	heads registry.Heads) (key ledger.Key, err error) {
	var created bool
	switch {
	case o.LogKeyFile != "":
		if key, err = registry.ReadLogKey(path, o.LogOrigin); err != nil && !hasHint(err) {
			err = evidence.Errorf(evidence.ClassOf(err), "registry", logKeyHint, err)
		}
		return key, err
	case o.ReplaceLog != "": // heads hold the last checkpoint of the log that is replaced
		key, created, err = registry.OpenLogKey(ctx, path, o.LogOrigin)
	default:
		key, created, err = log.OpenNew(ctx, path, o.LogOrigin, func() error {
			if err := log.HeldByAnother(ctx, heads); err != nil {
				return err
			}
			state, err := entries.LogState(ctx)
			if err == nil && state.Signed {
				err = fmt.Errorf("%w: the log of this database was signed before, and no key of it is here",
					log.ErrHead)
			}
			return err
		})
	}
	if created && err == nil {
		o.Logger.Info("log key created", "file", path)
	}
	return key, err
}

// explainLogError gives the error of a log that cannot be opened its class and a hint.
func explainLogError(path string, err error) error {
	switch {
	case errors.Is(err, log.ErrKey):
		return evidence.Errorf(evidence.Validation, path,
			"give all replicas the same key with --log-key-file; where the log cannot go on, a new key takes its "+
				"place with --replace-log", err)
	case errors.Is(err, log.ErrElsewhere):
		return evidence.Errorf(evidence.Integrity, path,
			"an export does not have the log: start with the database that the key signed; or let a log with another "+
				"name and a new key take its place, with --replace-log and the old name: see docs/operating.md, "+
				"The log", err)
	case errors.Is(err, log.ErrHead):
		return evidence.Errorf(evidence.Validation, path,
			"bring along the key, and what it signed last ("+log.HeadsOf(path).Path+
				", log-head in the bucket, or the newest checkpoint that anybody has); start with --first-log only "+
				"if the key is new and never signed; where the log cannot go on, a new key takes its place with "+
				"--replace-log", err)
	case errors.Is(err, log.ErrBegun):
		return evidence.Errorf(evidence.Validation, path,
			"start without --first-log, which is for the first start with a new key", err)
	}
	if hasHint(err) {
		return err
	}
	hint := ""
	if evidence.ClassOf(err) == evidence.Operation {
		hint = "--log-key-file, --db and --blobs name what exists, and this registry needs leave to write there: " +
			"a bucket's is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	}
	return evidence.Errorf(evidence.ClassOf(err), "registry", hint, err)
}

// hasHint reports whether err says what to do.
func hasHint(err error) bool {
	e := new(evidence.Error)
	return errors.As(err, &e) && e.Hint != ""
}
