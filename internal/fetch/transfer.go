package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// sink takes the bytes of a transfer. Its errors are those of this machine.
type sink interface {
	io.Writer
	reset() error // forget all that was written
}

// transfer brings the body of one URL into a sink, with retries.
type transfer struct {
	net      *network
	hosts    hosts   // which may be asked
	request  request // from and ifRange are set for each attempt
	limits   Limits
	most     int64   // bytes that the body may have
	together *budget // pays for every byte that arrives
	held     *budget // pays for the bytes in the sink
	sink     sink
	progress func(done, total int64) // may be nil
	log      *slog.Logger

	done      int64  // bytes in the sink
	total     int64  // bytes of the whole body, -1 if unknown
	validator string // of the version that the sink's bytes are from; "" forbids resuming
}

// run returns nil once the sink holds the whole body. Errors are failures, the
// sink's own, those of ctx, or that nobody agreed to ask the host: then nothing was sent.
func (t *transfer) run(ctx context.Context) error {
	if err := t.hosts.ask(t.request.url, t.request.by); err != nil {
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
			return t.overdue(ctx)
		}
		var f *failure
		if !errors.As(err, &f) || !f.retry {
			return err
		}
		pause := t.pause(attempt, f.after)
		late := false
		if end, ok := ctx.Deadline(); ok {
			late = time.Until(end) <= pause
		}
		if attempt >= t.limits.Retries || late {
			if attempt > 0 {
				f.err = fmt.Errorf("%w (%d attempts)", f.err, attempt+1)
			}
			return f
		}
		t.log.Debug("fetch is tried again", "url", show(t.request.url), "attempt", attempt+1,
			"pause", pause, "bytes", t.done, "reason", plain(f.Error(), 600))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return t.overdue(ctx)
		}
	}
}

// overdue is the error of a transfer whose context has ended.
func (t *transfer) overdue(ctx context.Context) error {
	if context.Cause(ctx) != errTimeUp {
		return ctx.Err()
	}
	return &failure{cause: evidence.Unreachable,
		err: fmt.Errorf("not complete after %s (%s)", t.limits.FileTime, t.sofar())}
}

func (t *transfer) sofar() string {
	if t.total >= 0 {
		return fmt.Sprintf("%s of %s bytes", evidence.Group(t.done), evidence.Group(t.total))
	}
	return evidence.Group(t.done) + " bytes"
}

// pause is the time before the retry that follows attempt: what the server asks
// for, else between half and all of a backoff that doubles; never more than the cap.
func (t *transfer) pause(attempt int, asked time.Duration) time.Duration {
	if asked > 0 {
		return min(asked, t.limits.BackoffMax)
	}
	d := t.limits.Backoff
	for range attempt {
		d = min(2*d, t.limits.BackoffMax)
	}
	d = min(d, t.limits.BackoffMax)
	return d/2 + rand.N(d/2+1)
}

// forget begins the body anew.
func (t *transfer) forget() error {
	t.held.give(t.done)
	t.done, t.total, t.validator = 0, -1, ""
	return t.sink.reset()
}

// attempt sends one request for what is missing and reads the reply.
func (t *transfer) attempt(ctx context.Context, buf []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(t.limits.Stall, func() { cancel(errStalled) })
	defer watch.Stop()

	if t.done > 0 && t.validator == "" {
		if err := t.forget(); err != nil {
			return err
		}
	}
	r := t.request
	r.from, r.ifRange = t.done, t.validator
	resp, err := t.net.get(ctx, r)
	if err != nil {
		if context.Cause(ctx) == errStalled {
			return t.stalled()
		}
		return err
	}
	defer resp.Body.Close()
	if err := t.accept(resp, r); err != nil {
		return err
	}
	for {
		n, err := resp.Body.Read(buf)
		watch.Reset(t.limits.Stall)
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
			return t.stalled()
		}
		return &failure{cause: evidence.Unreachable, status: resp.StatusCode, retry: true,
			err: fmt.Errorf("the body broke off after %s: %w", t.sofar(), err)}
	}
}

func (t *transfer) stalled() *failure {
	return &failure{cause: evidence.Unreachable, retry: true,
		err: fmt.Errorf("%w (%s, after %s)", errStalled, t.limits.Stall, t.sofar())}
}

// take adds p to the sink, within the limits.
func (t *transfer) take(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	after := t.done + int64(len(p))
	if after > t.most {
		return t.tooLarge(-1)
	}
	if t.total >= 0 && after > t.total { // a 206 in chunks can be longer than its range
		if err := t.forget(); err != nil {
			return err
		}
		return &failure{cause: evidence.Unreachable, retry: true, err: errors.New("the body is longer than announced")}
	}
	if !t.together.take(int64(len(p))) {
		return t.together.overspent()
	}
	if !t.held.take(int64(len(p))) {
		// To wait with what is there already could keep others waiting for it.
		if err := t.forget(); err != nil {
			return err
		}
		return t.held.crowded()
	}
	t.done = after
	if _, err := t.sink.Write(p); err != nil {
		return err
	}
	if t.progress != nil {
		t.progress(t.done, t.total)
	}
	return nil
}

func (t *transfer) tooLarge(size int64) *failure {
	f := &failure{cause: evidence.TooLarge}
	if size >= 0 {
		f.err = fmt.Errorf("%s bytes, the limit is %s", evidence.Group(size), evidence.Group(t.most))
	} else {
		f.err = fmt.Errorf("more than the limit of %s bytes", evidence.Group(t.most))
	}
	return f
}

// accept judges the head of a reply to r and prepares for its body.
func (t *transfer) accept(resp *http.Response, r request) error {
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
	case http.StatusRequestedRangeNotSatisfiable:
		if r.from > 0 { // the file has become shorter
			if err := t.forget(); err != nil {
				return err
			}
			return &failure{cause: evidence.Unreachable, status: resp.StatusCode, retry: true, err: statusError(resp.StatusCode)}
		}
		return statusFailure(resp)
	default:
		f := statusFailure(resp)
		if t.request.final429 && resp.StatusCode == http.StatusTooManyRequests {
			f.retry = false
		}
		return f
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		f := refused("the reply is encoded as %s though identity was asked for", quoted(e))
		f.status = resp.StatusCode
		return f
	}
	if resp.ContentLength < 0 && resp.ProtoMajor < 2 && len(resp.TransferEncoding) == 0 {
		f := refused("the reply has neither a length nor chunks: one that is cut off would look whole")
		f.status = resp.StatusCode
		return f
	}
	if resp.StatusCode == http.StatusPartialContent {
		return t.acceptPart(resp, r)
	}
	if err := t.forget(); err != nil {
		return err
	}
	if resp.ContentLength > t.most {
		return t.tooLarge(resp.ContentLength)
	}
	if !t.together.has(resp.ContentLength) {
		return t.together.overspent()
	}
	t.total, t.validator = resp.ContentLength, validator(resp.Header)
	if t.request.head != nil {
		t.request.head(resp)
	}
	return nil
}

// acceptPart checks that a 206 continues exactly what the sink holds.
func (t *transfer) acceptPart(resp *http.Response, r request) error {
	part, ok := parseContentRange(resp.Header.Get("Content-Range"))
	var problem string
	switch {
	case r.from == 0:
		problem = "answered 206 Partial Content to a request for the whole"
	case !ok:
		problem = "the reply's Content-Range cannot be used: " + quoted(resp.Header.Get("Content-Range"))
	case part.first != r.from || part.last != part.total-1:
		problem = "the reply is not the range that was asked for: " + quoted(resp.Header.Get("Content-Range"))
	case t.total >= 0 && part.total != t.total:
		problem = fmt.Sprintf("the file changed from %s to %s bytes while it was read", evidence.Group(t.total), evidence.Group(part.total))
	case contradicts(resp.Header, r.ifRange):
		problem = "the file changed while it was read"
	case part.total > t.most:
		return t.tooLarge(part.total)
	case !t.together.has(part.total - t.done):
		return t.together.overspent()
	default:
		t.total = part.total
		return nil
	}
	if err := t.forget(); err != nil {
		return err
	}
	return &failure{cause: evidence.Unreachable, status: resp.StatusCode, retry: true, err: errors.New(problem)}
}

// statusFailure is a reply that is not the thing asked for.
func statusFailure(resp *http.Response) *failure {
	f := &failure{cause: evidence.Unreachable, status: resp.StatusCode, err: statusError(resp.StatusCode)}
	switch status := resp.StatusCode; {
	case status == http.StatusNotFound || status == http.StatusGone:
		f.cause = evidence.NotFound
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.hint = "it may be private: check the credentials for this host"
	case status == http.StatusTooManyRequests || status >= 500:
		f.retry, f.after = true, retryAfter(resp.Header, time.Now())
	}
	return f
}
