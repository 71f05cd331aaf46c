package transfer

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestParseContentRange(t *testing.T) {
	for s, want := range map[string]contentRange{
		"bytes 0-0/1":                            {0, 0, 1},
		"bytes 5-9/10":                           {5, 9, 10},
		"Bytes 5-9/11":                           {5, 9, 11},
		"bytes 5-9/*":                            {},
		"bytes */10":                             {},
		"bytes 5-10/10":                          {},
		"bytes 9-5/10":                           {},
		"bytes -5-9/10":                          {},
		"bytes 5--9/10":                          {},
		"bytes +5-9/10":                          {},
		"bytes 5-9/10 ":                          {},
		"bytes 5-9/10/10":                        {},
		"bytes  5-9/10":                          {},
		"bytes=5-9/10":                           {},
		"items 5-9/10":                           {},
		"bytes 5-9":                              {},
		"bytes":                                  {},
		"":                                       {},
		"bytes 0x5-0x9/0x10":                     {},
		"bytes ٥-٩/١٠":                           {},
		"bytes 5-9/9999999999999999999999999999": {},
	} {
		got, ok := parseContentRange(s)
		if ok != (want != contentRange{}) || got != want {
			t.Errorf("%q gives %v %v, not %v", s, got, ok, want)
		}
	}
}

func FuzzParseContentRange(f *testing.F) {
	f.Add("bytes 5-9/10")
	f.Add("bytes 5-9/*")
	f.Fuzz(func(t *testing.T, s string) {
		r, ok := parseContentRange(s)
		if !ok {
			return
		}
		if r.first < 0 || r.first > r.last || r.last >= r.total {
			t.Errorf("%q gives %v", s, r)
		}
		again, ok := parseContentRange(fmt.Sprintf("bytes %d-%d/%d", r.first, r.last, r.total))
		if !ok || again != r {
			t.Errorf("%q gives %v, printed and read again %v", s, r, again)
		}
	})
}

func TestValidator(t *testing.T) {
	const modified, later = "Fri, 02 Jan 2026 03:04:05 GMT", "Fri, 02 Jan 2026 03:04:06 GMT"
	for _, tt := range []struct{ etag, modified, date, ranges, want string }{
		{etag: `"a"`, want: `"a"`},
		{etag: `""`, want: `""`},
		{etag: `W/"a"`},
		{etag: `a`},
		{etag: `"`},
		{etag: `"a"`, ranges: "none"},
		{etag: `"a"`, ranges: "bytes", want: `"a"`},
		{etag: `W/"a"`, modified: modified, date: later},
		{modified: modified, date: later, want: modified},
		{modified: modified, date: modified},
		{modified: later, date: modified},
		{modified: modified},
		{modified: "yesterday", date: later},
		{},
	} {
		h := http.Header{}
		for k, v := range map[string]string{"ETag": tt.etag, "Last-Modified": tt.modified, "Date": tt.date,
			"Accept-Ranges": tt.ranges} {
			if v != "" {
				h.Set(k, v)
			}
		}
		if got := validator(h); got != tt.want {
			t.Errorf("%+v gives %q", tt, got)
		}
	}
}

// TestRetryAfterHeader: what a server asks for, in either form.
func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		" 7 ":                           7 * time.Second,
		"-7":                            0,
		"1.5":                           0,
		"soon":                          0,
		"999999999999999999":            1 << 20 * time.Second,
		"99999999999999999999999999":    0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := parseRetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q is %s, not %s", value, got, want)
		}
	}
}
