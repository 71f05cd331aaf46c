package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// How a stream of events that broke off is resumed.
const (
	maxRetries   = 5 // without any event in between
	firstPause   = time.Second
	longestPause = 30 * time.Second
	maxEventID   = 1024 // bytes
)

// follow reads the events of the response to p until p is answered. A stream that breaks off is resumed
// after its last event if the events had ids; from version 2026-07-28 on they have none.
func (b *bridge) follow(ctx context.Context, p *post, resp *http.Response) error {
	var at position
	for tries := 0; ; tries++ {
		before := at.events
		err := b.readEvents(resp.Body, p, &at)
		resp.Body.Close()
		switch {
		case len(p.unanswered) == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case at.id == "" || p.version >= FirstStateless:
			return errors.New("the server's answer broke off")
		}
		if at.events > before {
			tries = 0
		}
		if resp, err = b.resume(ctx, &at, tries); err != nil {
			return err
		}
	}
}

// listen reads what the server sends without a request, if it offers that.
func (b *bridge) listen() {
	ctx := b.listening
	resp, err := b.openStream(ctx, "")
	if err != nil {
		return // a server need not offer it
	}
	var at position
	for tries := 0; ; tries++ {
		before, began := at.events, time.Now()
		err := b.readEvents(resp.Body, nil, &at)
		resp.Body.Close()
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, io.EOF) {
			b.notes.Printf("what the server says without being asked is not read any more: %s", err)
			return
		}
		if at.events > before || time.Since(began) > longestPause {
			tries = 0
		}
		if resp, err = b.resume(ctx, &at, tries); err != nil {
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, errGone):
				b.endBecause(err)
			default:
				b.notes.Printf("what the server says without being asked is not read any more: %s", err)
			}
			return
		}
	}
}

// resume opens a stream again, after tries without an event.
func (b *bridge) resume(ctx context.Context, at *position, tries int) (*http.Response, error) {
	var last error
	for ; tries < maxRetries; tries++ {
		wait := firstPause
		for range tries {
			wait += wait / 2
		}
		wait = min(wait+rand.N(wait), longestPause)
		if at.retry > 0 {
			wait = min(at.retry, longestPause)
		}
		if !sleep(ctx, wait) {
			return nil, ctx.Err()
		}
		resp, err := b.openStream(ctx, at.id)
		if err == nil || errors.Is(err, errGone) {
			return resp, err
		}
		last = err
	}
	if last == nil {
		last = errors.New("it breaks off again and again")
	}
	return nil, fmt.Errorf("the server's stream cannot be taken up again: %w", last)
}

// openStream asks for a stream of events, from the event with the id after on.
func (b *bridge) openStream(ctx context.Context, after string) (*http.Response, error) {
	p := &post{}
	if after != "" {
		p.params = map[string]string{"Last-Event-Id": after}
	}
	resp, err := b.do(ctx, http.MethodGet, nil, p)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		err = b.statusError(p, resp)
	case mediaType(resp) != "text/event-stream":
		err = errors.New("the server offers no stream")
	}
	if err != nil {
		closeBody(resp)
		return nil, err
	}
	return resp, nil
}

// position is how far a stream was read.
type position struct {
	id     string        // of the last event
	retry  time.Duration // that the server asks to wait
	events int
}

// readEvents passes on the messages of a stream until it ends or p, which may be nil, is answered.
func (b *bridge) readEvents(r io.Reader, p *post, at *position) error {
	lines := jsonrpc.NewLines(newEventStream(r), jsonrpc.LineLimit)
	e := event{id: at.id}
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, jsonrpc.ErrLong):
			return err
		case err != nil:
			return io.EOF // however it broke off
		case line[len(line)-1] != '\n':
			return io.EOF // within an event, which is dropped
		}
		line = line[:len(line)-1]
		if len(line) > 0 {
			if err := e.addField(line, at); err != nil {
				return err
			}
			continue
		}
		if e.any {
			at.events++
			at.id = e.id
		}
		if len(e.data) > 0 && (e.name == "" || e.name == "message") {
			b.deliver(p, e.data)
			if p != nil && len(p.unanswered) == 0 {
				return nil
			}
		}
		e = event{id: e.id}
	}
}

// event is an event of a stream, as far as it was read.
type event struct {
	data []byte
	name string
	id   string // that of an earlier event holds on
	any  bool   // it has data or an id
}

// addField takes a line of the event. The time that the server asks to wait is in at.
func (e *event) addField(line []byte, at *position) error {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		if len(e.data)+len(value) >= jsonrpc.LineLimit {
			return jsonrpc.ErrLong
		}
		if e.any = true; e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	case "event":
		e.name = string(value[:min(len(value), maxEventID)])
	case "id":
		if e.any = true; len(value) <= maxEventID && bytes.IndexByte(value, 0) < 0 {
			e.id = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			at.retry = time.Duration(ms) * time.Millisecond
		}
	}
	return nil
}

// sleep waits for d, or until ctx is done, and reports whether d passed.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
