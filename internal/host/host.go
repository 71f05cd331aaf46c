// Package host describes the machine and the user for whom flows act: where files are kept, what
// the user consented to, who is logged in, and how a wait is announced.
//
// It keeps two files in the state directory, both readable by this user alone: variables.json
// (consents to send variables and to ask hosts, at most [machine.MaxVariables] bytes) and
// login.json (the session, at most 64 KiB). Commands fill [Host]; flows read no environment.
package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/store"
)

// ReadAll reads r to its end, and fails if that is more than limit bytes. The expected size
// only sets how much memory is allocated first.
func ReadAll(r io.Reader, size, limit int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, max(0, min(size, limit))+bytes.MinRead))
	_, err := b.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && int64(b.Len()) > limit {
		err = fmt.Errorf("larger than %s bytes", evidence.Group(limit))
	}
	return b.Bytes(), err
}

// Host is the machine and user for whom flows act. Commands fill it; flows read no
// environment of their own.
type Host struct {
	Places Places
	Dir    string // of the project that the flow is for; "" is the working directory
	Fetch  *fetch.Client
	// Patience is how long Fetch and clients of registries wait for hosts that are silent; nil waits longer.
	Patience *transfer.Patience
	Environ  []string // "NAME=value", as os.Environ gives it
	Getenv   func(name string) string
	Logger   *slog.Logger
	Stderr   io.Writer // what servers print while they are captured; nil is os.Stderr
	Now      func() time.Time
	Sending  *Sending // which variables that a checkout names may be sent; nil: none
	Kept     *Kept    // by other packages, for this command; nil: nothing is
	Answers  *Answers // of npm, to this command; nil: each question is asked

	SkipPauses bool // tests set it: retries follow one another without a pause

	// ShowStatus shows a waiting person which slow step runs now; "" means that it ended. May be
	// nil.
	ShowStatus func(what string)
}

// Announce shows a person that a slow step runs, until done is called.
func (h *Host) Announce(format string, args ...any) (done func()) {
	if h.ShowStatus == nil {
		return func() {}
	}
	h.ShowStatus(fmt.Sprintf(format, args...))
	return func() { h.ShowStatus("") }
}

// Pause waits for d before a retry, or returns why ctx ended.
func (h *Host) Pause(ctx context.Context, d time.Duration) error {
	if h.SkipPauses {
		d = 0
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// Places are the directories that Hallmark keeps files in.
type Places = durable.Places

// Store opens the audited store.
func (h *Host) Store() (*store.Store, error) {
	return store.Open(filepath.Join(h.Places.Cache, "store"), h.Logger)
}

// ReadFile reads a regular file of at most limit bytes, and nil if there is no file. It refuses
// pipes and devices, so that a checkout cannot make it wait: see [durable.OpenRegular].
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := durable.OpenRegular(path)
	if errors.Is(err, durable.ErrIrregular) {
		return nil, evidence.Errorf(evidence.Refused, path, "", durable.ErrIrregular)
	}
	return readOpened(f, err, path, limit)
}

// ReadNamed reads a file that a person named, of at most limit bytes, and nil if there is none.
// Unlike [ReadFile] it reads pipes too.
func ReadNamed(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	return readOpened(f, err, path, limit)
}

func readOpened(f *os.File, err error, path string, limit int64) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	data, err := ReadAll(f, size, limit)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, path, "", err)
	}
	return data, nil
}

// IsUnwritable reports whether err means that a place cannot be written to, because of its
// permissions or because the file system is read-only.
func IsUnwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
