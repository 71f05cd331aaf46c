// Package transfer fetches the body of one URL into a [Sink]: over https, bounded in size,
// time, redirects and retries, and resumed only where that cannot mix two versions.
//
// Its errors are [*Failure] if a host or its answer is at fault, those of the context, those
// of the sink, and refusals of package wire, before which nothing was sent. The rules of a transfer
// are in the comment of package fetch.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Sink receives the bytes of a transfer. Its errors come from this machine.
type Sink interface {
	io.Writer
	Reset() error // discards all that was written
}

// Transfer fetches the body of one URL into a sink, with retries. It is used once.
type Transfer struct {
	Network  *Network
	Hosts    wire.Hosts // those that may be asked
	Request  Request
	Limits   Limits
	Together *Budget // pays for every byte that arrives
	Held     *Budget // pays for the bytes in the sink
	Sink     Sink
	Progress func(done, total int64) // may be nil
	Log      *slog.Logger

	done      int64  // bytes in the sink
	total     int64  // bytes of the whole body, -1 if unknown
	validator string // of the version that the sink's bytes are of; without one it cannot be resumed
}

// Run returns nil once the sink holds the whole body. Errors are failures, the
// sink's own, those of ctx, or that nobody agreed to ask the host: then nothing was sent.
func (t *Transfer) Run(ctx context.Context) error {
	if err := t.Hosts.Check(t.Request.URL, t.Request.By); err != nil {
		return err
	}
	t.total = -1
	buf := make([]byte, digest.BufferSize)
	for attempt := 0; ; attempt++ {
		err := t.attempt(ctx, buf)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return t.Limits.OverdueError(ctx, t.progress())
		}
		var f *Failure
		if !errors.As(err, &f) || !f.Retry {
			return err
		}
		pause := t.Limits.pause(attempt, f.After)
		late := false
		if end, ok := ctx.Deadline(); ok {
			late = time.Until(end) <= pause
		}
		if attempt >= t.Limits.Retries || late {
			if attempt > 0 {
				f.Err = fmt.Errorf("%w (%d attempts)", f.Err, attempt+1)
			}
			return f
		}
		t.Log.Debug("fetch is tried again", "url", wire.ShowURL(t.Request.URL), "attempt", attempt+1,
			"pause", pause, "bytes", t.done, "reason", wire.Plain(f.Error(), 600))
		if !wait(ctx, pause) {
			return t.Limits.OverdueError(ctx, t.progress())
		}
	}
}

// progress says how much has arrived, for messages.
func (t *Transfer) progress() string {
	if t.total >= 0 {
		return fmt.Sprintf("%s of %s bytes", evidence.Group(t.done), evidence.Group(t.total))
	}
	return evidence.Group(t.done) + " bytes"
}

// reset discards the bytes in the sink, so that the body begins anew.
func (t *Transfer) reset() error {
	t.Held.GiveBack(t.done)
	t.done, t.total, t.validator = 0, -1, ""
	return t.Sink.Reset()
}

// attempt sends one request for what is missing and reads the reply.
func (t *Transfer) attempt(ctx context.Context, buf []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(t.Limits.Stall, func() { cancel(errStalled) })
	defer watch.Stop()

	if t.done > 0 && t.validator == "" {
		if err := t.reset(); err != nil {
			return err
		}
	}
	r := t.Request
	r.from, r.ifRange = t.done, t.validator
	resp, err := t.Network.get(ctx, r)
	if err != nil {
		if context.Cause(ctx) == errStalled {
			return t.Limits.stallFailure(t.progress())
		}
		return err
	}
	defer resp.Body.Close()
	if err := t.accept(resp, r); err != nil {
		return err
	}
	for {
		n, err := resp.Body.Read(buf)
		watch.Reset(t.Limits.Stall)
		if werr := t.take(buf[:n]); werr != nil {
			return werr
		}
		switch {
		case err == io.EOF && (t.total < 0 || t.done == t.total):
			return nil
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
		case err == nil:
			continue
		case context.Cause(ctx) == errStalled:
			return t.Limits.stallFailure(t.progress())
		}
		return &Failure{Cause: evidence.Unreachable, Status: resp.StatusCode, Retry: true,
			Err: fmt.Errorf("the body broke off after %s: %w", t.progress(), err)}
	}
}

// take writes p to the sink, within the limits.
func (t *Transfer) take(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	after := t.done + int64(len(p))
	if after > t.Request.Most {
		return t.tooLarge(-1)
	}
	if t.total >= 0 && after > t.total { // a 206 in chunks can be longer than its range
		if err := t.reset(); err != nil {
			return err
		}
		return &Failure{Cause: evidence.Unreachable, Retry: true,
			Err: errors.New("the body is longer than announced")}
	}
	if !t.Together.take(int64(len(p))) {
		return t.Together.overspentFailure()
	}
	if !t.Held.take(int64(len(p))) {
		// Others may wait for the room of the bytes that are there already.
		if err := t.reset(); err != nil {
			return err
		}
		return t.Held.crowdedFailure()
	}
	t.done = after
	if _, err := t.Sink.Write(p); err != nil {
		return err
	}
	if t.Progress != nil {
		t.Progress(t.done, t.total)
	}
	return nil
}

// tooLarge is the failure of a body of size bytes, -1 if its size is not known.
func (t *Transfer) tooLarge(size int64) *Failure {
	f := &Failure{Cause: evidence.TooLarge}
	if size >= 0 {
		f.Err = fmt.Errorf("%s bytes, the limit is %s", evidence.Group(size), evidence.Group(t.Request.Most))
	} else {
		f.Err = fmt.Errorf("more than the limit of %s bytes", evidence.Group(t.Request.Most))
	}
	return f
}

// accept checks the status and the headers of a reply to r, and prepares for its body.
func (t *Transfer) accept(resp *http.Response, r Request) error {
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
	case http.StatusRequestedRangeNotSatisfiable:
		if r.from > 0 { // the file is shorter than what the sink holds
			if err := t.reset(); err != nil {
				return err
			}
			return &Failure{Cause: evidence.Unreachable, Status: resp.StatusCode, Retry: true,
				Err: StatusError(resp.StatusCode)}
		}
		return statusFailure(resp)
	default:
		f := statusFailure(resp)
		if t.Request.Final429 && resp.StatusCode == http.StatusTooManyRequests {
			f.Retry = false
		}
		return f
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		f := NewRefusal("the reply is encoded as %s though identity was asked for", wire.Quoted(e))
		f.Status = resp.StatusCode
		return f
	}
	if resp.ContentLength < 0 && resp.ProtoMajor < 2 && len(resp.TransferEncoding) == 0 {
		f := NewRefusal("the reply has neither a length nor chunks: one that is cut off would look whole")
		f.Status = resp.StatusCode
		return f
	}
	if resp.StatusCode == http.StatusPartialContent {
		return t.acceptPart(resp, r)
	}
	if err := t.reset(); err != nil {
		return err
	}
	if resp.ContentLength > t.Request.Most {
		return t.tooLarge(resp.ContentLength)
	}
	if !t.Together.has(resp.ContentLength) {
		return t.Together.overspentFailure()
	}
	t.total, t.validator = resp.ContentLength, validator(resp.Header)
	if t.Request.Head != nil {
		t.Request.Head(resp)
	}
	return nil
}

// acceptPart checks that a 206 continues exactly what the sink holds.
func (t *Transfer) acceptPart(resp *http.Response, r Request) error {
	part, ok := parseContentRange(resp.Header.Get("Content-Range"))
	var problem string
	switch {
	case r.from == 0:
		problem = "answered 206 Partial Content to a request for the whole"
	case !ok:
		problem = "the reply's Content-Range cannot be used: " + wire.Quoted(resp.Header.Get("Content-Range"))
	case part.first != r.from || part.last != part.total-1:
		problem = "the reply is not the range that was asked for: " + wire.Quoted(resp.Header.Get("Content-Range"))
	case t.total >= 0 && part.total != t.total:
		problem = fmt.Sprintf("the file changed from %s to %s bytes while it was read",
			evidence.Group(t.total), evidence.Group(part.total))
	case contradicts(resp.Header, r.ifRange):
		problem = "the file changed while it was read"
	case part.total > t.Request.Most:
		return t.tooLarge(part.total)
	case !t.Together.has(part.total - t.done):
		return t.Together.overspentFailure()
	default:
		t.total = part.total
		return nil
	}
	if err := t.reset(); err != nil {
		return err
	}
	return &Failure{Cause: evidence.Unreachable, Status: resp.StatusCode, Retry: true, Err: errors.New(problem)}
}

// Discard gives back the room that the sink's bytes took. The sink is not needed any more.
func (t *Transfer) Discard() { t.Held.GiveBack(t.done) }
