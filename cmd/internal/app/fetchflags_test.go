package app

import (
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/internal/fetch"
)

// Without flags the limits are the defaults, and each flag reaches its limit. No redirects
// are not the default of them.
func TestFetchFlags(t *testing.T) {
	var l FetchFlags
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	l.Register(f)
	d := fetch.DefaultLimits()
	want := fetch.Limits{FileSize: d.FileSize, FileTime: d.FileTime, Redirects: d.Redirects,
		DocumentFiles: d.DocumentFiles, DocumentAtOnce: d.DocumentAtOnce, Parallel: d.Parallel}
	if got := l.Of(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if err := f.Parse(
		[]string{"--max-file-bytes=2", "--max-file-time=3s", "--max-redirects=0", "--max-files=5",
			"--max-files-at-once=6"}); err != nil {
		t.Fatal(err)
	}
	want = fetch.Limits{FileSize: 2 << 20, FileTime: 3 * time.Second, Redirects: -1, DocumentFiles: 5,
		DocumentAtOnce: 6, Parallel: 6}
	if got := l.Of(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
