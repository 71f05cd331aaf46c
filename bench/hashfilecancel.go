package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// measureCancel cancels calls of ours that take long, and measures from the notification to
// the answer.
func (b *editBench) measureCancel(what, tool string, arguments map[string]any) error {
	e := b.servers[0]
	text, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return err
	}
	var whole, stopped []float64
	for range max(b.o.rounds, 1) {
		d, err := timed(func() error { _, err := e.ask("tools/call", string(text)); return err })
		if err != nil {
			return err
		}
		whole = append(whole, float64(d.Nanoseconds())/1e6)
		d, err = e.cancelled(string(text), d/4)
		if errors.Is(err, errUnanswered) {
			b.t.add(fmt.Sprintf("P11 %s, cancelled, %s", what, b.where), "never answered",
				"the whole call "+milliseconds(median(whole)), "–", "–")
			return nil
		}
		if err != nil {
			return err
		}
		stopped = append(stopped, float64(d.Nanoseconds())/1e6)
	}
	b.t.add(fmt.Sprintf("P11 %s, from being cancelled to the answer, %s", what, b.where),
		milliseconds(median(stopped)), "the whole call "+milliseconds(median(whole)), "–", "–")
	return nil
}

// errUnanswered says that a server does not answer what is cancelled, which it may leave.
var errUnanswered = errors.New("the cancelled call was not answered")

// cancelled makes a call, cancels it after a while, and returns how long its answer takes from
// then on. It pings meanwhile, so that it never waits for nothing.
func (e *editor) cancelled(params string, after time.Duration) (time.Duration, error) {
	const pings = 400
	e.id++
	id := e.id
	if err := e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, id,
		params)); err != nil {
		return 0, err
	}
	time.Sleep(after)
	began := time.Now()
	if err := e.send(fmt.Sprintf(
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)); err != nil {
		return 0, err
	}
	var took time.Duration
	for range pings {
		e.id++
		if err := e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, e.id)); err != nil {
			return 0, err
		}
		for {
			line, err := e.answer()
			if err != nil {
				return 0, err
			}
			if idOf(line) != id {
				break // the ping's
			}
			took = time.Since(began)
		}
		if took > 0 {
			return took, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, errUnanswered
}

// answerID is where servers put the id of an answer.
var answerID = regexp.MustCompile(`^\{[^{]{0,60}"id":(\d+)`)

// idOf is the id of an answer, of which only the beginning may have been kept; or 0.
func idOf(line []byte) int {
	var m struct{ ID int }
	if json.Unmarshal(line, &m) == nil {
		return m.ID
	}
	if found := answerID.FindSubmatch(line); found != nil {
		m.ID, _ = strconv.Atoi(string(found[1]))
	}
	return m.ID
}
