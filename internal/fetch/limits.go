package fetch

import (
	"cmp"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
)

// Limits bound what one fetch may cost. A field that is zero has the value of
// [DefaultLimits]; a negative Redirects or Retries means none.
type Limits struct {
	FileSize     int64         // bytes of an artifact
	DocumentSize int64         // bytes of a registry's document
	FileTime     time.Duration // for an artifact, all its requests, retries and pauses
	Stall        time.Duration // longest silence before an attempt is given up
	Redirects    int           // per request
	Retries      int           // attempts after the first, per file or document
	Backoff      time.Duration // pause before the first retry; doubles each time
	BackoffMax   time.Duration // longest pause, also if Retry-After asks for more
	Parallel     int           // fetches at once in one Client

	// Wait is how long a client asks again for what is not there yet, from when it was made: a
	// registry may show a version minutes after it was published.
	Wait time.Duration // 0: not at all

	// Fetches for one document, such as a server.json. Callers of the Client count them.
	DocumentFiles  int // in all
	DocumentAtOnce int // at the same time

	// Together bounds all that one client of [Client.For] fetches, in bytes: files,
	// documents, and what had to be fetched again. What goes beyond is too large.
	Together int64 // 0: no limit

	// Held bounds the files of a Client that are on this machine at once, in bytes. A
	// file for which there is no room is tried again later, as if its host did not
	// answer.
	Held int64 // 0: no limit
}

// DefaultLimits are the limits of a client that sets none.
func DefaultLimits() Limits {
	return Limits{
		FileSize:     1 << 30,
		DocumentSize: 8 << 20,
		FileTime:     10 * time.Minute,
		Stall:        time.Minute,
		Redirects:    5,
		Retries:      4,
		Backoff:      500 * time.Millisecond,
		BackoffMax:   30 * time.Second,
		Parallel:     4,

		DocumentFiles:  64,
		DocumentAtOnce: 4,
	}
}

// orDefault replaces the fields that are zero.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	return Limits{
		FileSize:     cmp.Or(l.FileSize, d.FileSize),
		DocumentSize: cmp.Or(l.DocumentSize, d.DocumentSize),
		FileTime:     cmp.Or(l.FileTime, d.FileTime),
		Stall:        cmp.Or(l.Stall, d.Stall),
		Redirects:    cmp.Or(l.Redirects, d.Redirects),
		Retries:      cmp.Or(l.Retries, d.Retries),
		Backoff:      cmp.Or(l.Backoff, d.Backoff),
		BackoffMax:   cmp.Or(l.BackoffMax, d.BackoffMax),
		Parallel:     cmp.Or(l.Parallel, d.Parallel),

		DocumentFiles:  cmp.Or(l.DocumentFiles, d.DocumentFiles),
		DocumentAtOnce: cmp.Or(l.DocumentAtOnce, d.DocumentAtOnce),

		Wait:     l.Wait,
		Together: l.Together,
		Held:     l.Held,
	}
}

// forTransfer returns the limits of a single transfer.
func (l Limits) forTransfer() transfer.Limits {
	return transfer.Limits{Time: l.FileTime, Stall: l.Stall, Retries: l.Retries, Backoff: l.Backoff,
		BackoffMax: l.BackoffMax}
}
