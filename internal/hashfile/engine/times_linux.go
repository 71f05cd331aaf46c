package engine

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// timesOf returns when the file at a place was created and last read.
func timesOf(p *place.Place) (created, accessed time.Time) {
	created, accessed = p.Info.ModTime(), p.Info.ModTime()
	dir, err := p.Parent().Open(".")
	if err != nil {
		return created, accessed
	}
	defer dir.Close()
	name := p.Name
	if p.Rel == "." {
		name = "."
	}
	var s unix.Statx_t
	err = unix.Statx(int(dir.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_ATIME|unix.STATX_BTIME, &s)
	if err != nil {
		return created, accessed
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		created = time.Unix(s.Btime.Sec, int64(s.Btime.Nsec))
	}
	if s.Mask&unix.STATX_ATIME != 0 {
		accessed = time.Unix(s.Atime.Sec, int64(s.Atime.Nsec))
	}
	return created, accessed
}
