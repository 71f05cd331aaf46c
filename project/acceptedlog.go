package project

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AcceptedLog is the log that proved what was accepted, and what was demanded of it then.
type AcceptedLog struct {
	LogKey    string        `json:"log_key,omitempty"`        // "" without a log
	LogSize   int64         `json:"log_size,omitempty"`       // of the newest checkpoint that this machine had seen
	Quorum    int           `json:"witness_quorum,omitempty"` // of witnesses
	Witnesses []string      `json:"witnesses,omitempty"`      // their verifier keys; none in what an older build wrote
	MaxAge    time.Duration `json:"max_age,omitempty"`        // of their cosignatures, in nanoseconds; 0: any
}

// Weaker returns what was demanded of the log when something was accepted and is not demanded
// now: its key, the number of witnesses, the same witnesses, and how recently they cosigned. A
// log with another key is not the log that was accepted, no matter who vouches for it.
func (a AcceptedLog) Weaker(now AcceptedLog) (all []Weakening) {
	if a.LogKey == "" {
		return nil
	}
	if now.LogKey != a.LogKey {
		all = append(all, Weakening{"log_key", a.LogKey, cmp.Or(now.LogKey, "none")})
	}
	if now.Quorum < a.Quorum {
		all = append(all, Weakening{"witness_quorum", strconv.Itoa(a.Quorum), strconv.Itoa(now.Quorum)})
	} else if a.Kept(now.Quorum, now.Witnesses) < a.Quorum {
		all = append(all, Weakening{"witnesses", strings.Join(a.Witnesses, ", "), strings.Join(now.Witnesses, ", ")})
	}
	if a.MaxAge > 0 && (now.MaxAge == 0 || now.MaxAge > a.MaxAge) {
		is := "none"
		if now.MaxAge > 0 {
			is = now.MaxAge.String()
		}
		all = append(all, Weakening{"max_age", a.MaxAge.String(), is})
	}
	return all
}

// Kept is how many of the witnesses that were known when something was accepted must sign if a
// quorum of the given witnesses signs: each new witness may take the place of one of them.
func (a AcceptedLog) Kept(quorum int, witnesses []string) int {
	if len(a.Witnesses) == 0 {
		return quorum
	}
	for _, w := range witnesses {
		if !slices.Contains(a.Witnesses, w) {
			quorum--
		}
	}
	return quorum
}

func (a AcceptedLog) isZero() bool {
	return a.LogKey == "" && a.LogSize == 0 && a.Quorum == 0 && a.Witnesses == nil && a.MaxAge == 0
}
