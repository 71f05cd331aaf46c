package transfer

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// contentRange is the Content-Range of a 206 reply: "bytes first-last/total". A total of "*" is
// refused, because a part of a body of unknown size cannot be joined to another.
type contentRange struct {
	first, last, total int64 // last is inclusive
}

func parseContentRange(s string) (contentRange, bool) {
	var r contentRange
	unit, rest, ok := strings.Cut(s, " ")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return r, false
	}
	span, total, ok := strings.Cut(rest, "/")
	if !ok {
		return r, false
	}
	first, last, ok := strings.Cut(span, "-")
	if !ok {
		return r, false
	}
	var ok1, ok2, ok3 bool
	r.first, ok1 = parseDecimal(first)
	r.last, ok2 = parseDecimal(last)
	r.total, ok3 = parseDecimal(total)
	if !ok1 || !ok2 || !ok3 || r.first > r.last || r.last >= r.total {
		return contentRange{}, false
	}
	return r, true
}

// parseDecimal reads a number of digits only, at most 18 so that sums do not overflow.
func parseDecimal(s string) (int64, bool) {
	if len(s) == 0 || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// validator returns what If-Range may hold for this reply: a strong ETag, else a Last-Modified
// that is strong by RFC 9110, 8.8.2.2 (at least a second older than the reply), else "".
func validator(h http.Header) string {
	if strings.EqualFold(h.Get("Accept-Ranges"), "none") {
		return ""
	}
	if tag := h.Get("ETag"); tag != "" {
		if len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
			return tag
		}
		return "" // weak: another file may have the same
	}
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return ""
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || date.Sub(modified) < time.Second {
		return ""
	}
	return h.Get("Last-Modified")
}

// contradicts reports whether a 206 names another version of the file than want.
func contradicts(h http.Header, want string) bool {
	name := "Last-Modified"
	if strings.HasPrefix(want, `"`) {
		name = "ETag"
	}
	got := h.Get(name)
	return got != "" && got != want
}

// parseRetryAfter reads Retry-After, in seconds or as a date; 0 if there is none.
func parseRetryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, ok := parseDecimal(value); ok {
		return time.Duration(min(seconds, 1<<20)) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}
