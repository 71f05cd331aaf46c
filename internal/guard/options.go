package guard

import (
	"io"
	"time"
)

// What to do about drift.
const (
	Withhold = "withhold" // leave drifted items out and refuse calls to them
	Block    = "block"    // refuse every call as soon as anything drifted
	Warn     = "warn"     // let everything pass, with a line on standard error
)

// What to do about requests that the server makes of the client, such as sampling,
// elicitation and roots. Pings always pass.
const (
	RequestsAllow = "allow"
	RequestsLog   = "log" // forward, with an audit line
	RequestsDeny  = "deny"
)

// Options say how to guard a server. The zero value approves nothing.
type Options struct {
	Server         string // name for messages
	Review         string // the command that shows what changed; "" is "hallmark review" with the server's name
	Approved       Approved
	OnDrift        string // Withhold ("" too), Block or Warn
	ServerRequests string // RequestsAllow ("" too), RequestsLog or RequestsDeny

	Judge JudgeFunc // nil is drift.Judge

	// Observed is called after each complete listing that the guard made. It must
	// not block: calls wait meanwhile. It may be nil.
	Observed func(Report)

	Stderr io.Writer // the guard's own lines; nil is none
	Log    io.Writer // one JSON line a call: time, server, method, name, outcome; nil is none

	ListTimeout time.Duration // for one listing by the guard; 0 is 60 s

	// Limits that tests set; 0 is the constant.
	lineLimit                  int
	answers, grace, term, left time.Duration
	rest                       time.Duration
}
