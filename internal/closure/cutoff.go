package closure

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// npmCutoff returns the option by which npm leaves out what was published after before; none if that is zero. The
// user's own settings of that kind count if they leave out more: npm would let the option replace them.
func npmCutoff(h *host.Host, before time.Time) []string {
	if before.IsZero() {
		return nil
	}
	if days, err := strconv.Atoi(h.Fetch.NPMSetting("min-release-age")); err == nil {
		before = earlier(before, h.Now().AddDate(0, 0, -days))
	}
	if own, ok := parseDate(h.Fetch.NPMSetting("before")); ok {
		before = earlier(before, own)
	}
	return []string{"--before=" + before.UTC().Format(time.RFC3339)}
}

// uvCutoff is [npmCutoff] for uv, which has one setting of that kind: a time, a date or a span.
func uvCutoff(h *host.Host, before time.Time) ([]string, error) {
	if before.IsZero() {
		return nil, nil
	}
	text, err := h.Fetch.UVSetting("exclude-newer")
	if err != nil {
		return nil, err
	}
	if text != "" {
		own, ok := parseDate(text)
		if span, isSpan := parseSpan(text); isSpan {
			own, ok = h.Now().Add(-span), true
		}
		if !ok {
			return nil, evidence.Errorf(evidence.Validation, "uv configuration", "write it as a date or as days: "+
				"\"3 days\"",
				fmt.Errorf("exclude-newer is %q, and Hallmark cannot tell whether min_age of hallmark.toml leaves "+
					"out more", text))
		}
		before = earlier(before, own)
	}
	return []string{"--exclude-newer", before.UTC().Format(time.RFC3339)}, nil
}

// pipCutoff refuses a cutoff that pip cannot keep.
func pipCutoff(subject string, before time.Time) error {
	if before.IsZero() {
		return nil
	}
	return evidence.Errorf(evidence.Refused, subject, "install uv, which can leave out new versions",
		errors.New("hallmark.toml has min_age, and pip takes versions of any age"))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// parseDate reads a time, or a date, which ends where the next begins.
func parseDate(text string) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	at, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	return at, err == nil
}

var spanForm = spelling.Form(`^(?:P(\d{1,4})([DW])|PT(\d{1,5})(H)` +
	`|(\d{1,5}) ?(d|day|days|w|week|weeks|h|hour|hours))$`)

// parseSpan reads a span as uv writes it: "3 days", "2 weeks", "36 hours", "P3D".
func parseSpan(text string) (time.Duration, bool) {
	m := spanForm().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, _ := strconv.Atoi(m[1] + m[3] + m[5])
	unit := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour,
		'w': 7 * 24 * time.Hour}[(m[2] + m[4] + m[6])[0]|0x20]
	return time.Duration(n) * unit, true
}
