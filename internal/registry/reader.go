package registry

import (
	"context"
	"io"
)

// ContextReader reads r until ctx ends, and gives the error of ctx then.
func ContextReader(ctx context.Context, r io.Reader) io.Reader { return &readerUntil{ctx, r} }

type readerUntil struct {
	ctx context.Context
	r   io.Reader
}

func (u *readerUntil) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
