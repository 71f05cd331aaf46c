package tree

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hallmark-mcp/hallmark/digest"
)

// source is where the bytes of a tree come from.
type source struct {
	files []File // in the order of the stream
	open  Open
	width int // how many files are read at once; 0 is one for each processor

	held map[string][]byte // in place of open: the contents, by path, which are hashed where they lie
}

// A fingerprint over a whole tree is one sequential hash, so that only reading can
// be spread over processors. Opening and reading many small files costs about as
// much as hashing them. A pipeline therefore cuts the list into jobs of whole files
// that fit one buffer; workers fill buffers ahead of the hash, which takes them in
// order. A file too large for a buffer is read by the hashing side as it goes.
type pipeline struct {
	source
	frame framing
	jobs  []job
	next  atomic.Int64 // the job that the next worker takes
	free  chan *buffer // nil stands for a buffer that is not made yet
}

// jobSize is the size of one buffer. Framing and content of a job's files fit it.
const jobSize = 256 << 10

// job is files[lo:hi], framed in data when ready is closed.
type job struct {
	lo, hi int
	large  bool // one file that no buffer holds
	ready  chan struct{}
	buf    *buffer
	data   []byte // in buf
	err    error
}

type buffer [jobSize]byte

// buffers are reused for the next tree: making a new one costs as much as hashing a small tree.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// framing is what stands around the content of a file. Each function appends to
// dst what belongs to f; tail may be nil.
type framing struct {
	head, tail func(dst []byte, f File) []byte
}

func (r framing) appendTail(dst []byte, f File) []byte {
	if r.tail == nil {
		return dst
	}
	return r.tail(dst, f)
}

func splitJobs(files []File, frame framing) []job {
	var (
		out     []job
		used    int64
		scratch []byte
	)
	for i, f := range files {
		scratch = frame.appendTail(frame.head(scratch[:0], f), f)
		need := int64(len(scratch)) + f.Size + 1 // one byte more shows whether the file has grown
		switch {
		case need > jobSize || need < 0:
			out = append(out, job{lo: i, hi: i + 1, large: true})
			used = jobSize
		case used+need > jobSize || len(out) == 0:
			out = append(out, job{lo: i, hi: i + 1, ready: make(chan struct{})})
			used = need
		default:
			out[len(out)-1].hi = i + 1
			used += need
		}
	}
	return out
}

// stream writes each file in its frame to w, in the order of the files, and returns the
// number of bytes of content. No goroutine and no call of open outlives it.
func (s source) stream(ctx context.Context, frame framing, w io.Writer) (int64, error) {
	if s.held != nil {
		return s.streamHeld(ctx, frame, w)
	}
	jobs := splitJobs(s.files, frame)
	if len(jobs) == 1 && !jobs[0].large {
		return s.streamSmall(ctx, frame, w)
	}
	width := s.width
	if width <= 0 {
		width = runtime.GOMAXPROCS(0)
	}
	width = min(width, len(jobs))
	p := &pipeline{source: s, frame: frame, jobs: jobs, free: make(chan *buffer, 2*width)}
	for range cap(p.free) {
		p.free <- nil
	}
	ctx, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer func() {
		stop()
		workers.Wait()
		for range len(p.free) {
			if buf := <-p.free; buf != nil {
				buffers.Put(buf)
			}
		}
	}()
	for range width {
		workers.Go(func() { p.fillBuffers(ctx) })
	}
	return p.writeJobs(ctx, w)
}

// fillBuffers is one worker: it fills buffers until no job is left or ctx ends. It takes a
// buffer before it takes a job. Jobs are taken in order, so the one that the hash waits for
// always has a buffer, and there is no deadlock.
func (p *pipeline) fillBuffers(ctx context.Context) {
	for {
		var buf *buffer
		select {
		case buf = <-p.free:
		case <-ctx.Done():
			return
		}
		i := int(p.next.Add(1)) - 1
		for i < len(p.jobs) && p.jobs[i].large {
			i = int(p.next.Add(1)) - 1
		}
		if i >= len(p.jobs) {
			p.free <- buf
			return
		}
		if buf == nil {
			buf = buffers.Get().(*buffer)
		}
		j := &p.jobs[i]
		j.buf = buf
		j.data, j.err = fillBuffer(ctx, buf[:0], p.files[j.lo:j.hi], p.open, p.frame)
		close(j.ready)
	}
}

// writeJobs writes the jobs to w in their order, and returns the number of bytes of content.
func (p *pipeline) writeJobs(ctx context.Context, w io.Writer) (total int64, err error) {
	var large []byte // a buffer for the large files, made for the first one
	for i := range p.jobs {
		j := &p.jobs[i]
		for _, f := range p.files[j.lo:j.hi] {
			total += f.Size
		}
		if j.large {
			if large == nil {
				large = make([]byte, digest.BufferSize)
			}
			if err := p.writeLarge(ctx, w, p.files[j.lo], large); err != nil {
				return 0, err
			}
			continue
		}
		select {
		case <-j.ready:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		if j.err != nil {
			return 0, j.err
		}
		if _, err := w.Write(j.data); err != nil {
			return 0, err
		}
		p.free <- j.buf // never blocks: it holds as many as there are
	}
	return total, nil
}

// writeLarge writes a file that no buffer holds, in its frame, to w.
func (p *pipeline) writeLarge(ctx context.Context, w io.Writer, f File, buf []byte) error {
	if _, err := w.Write(p.frame.head(nil, f)); err != nil {
		return err
	}
	if err := copyFile(ctx, w, f, p.open, buf); err != nil {
		return err
	}
	if tail := p.frame.appendTail(nil, f); len(tail) > 0 {
		if _, err := w.Write(tail); err != nil {
			return err
		}
	}
	return nil
}

// streamSmall is stream for files that fit one buffer, where nothing could go on at the same
// time: the bytes are hashed right after they were read, while the processor's cache has them.
func (s source) streamSmall(ctx context.Context, frame framing, w io.Writer) (total int64, err error) {
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	data, err := fillBuffer(ctx, buf[:0], s.files, s.open, frame)
	if err != nil {
		return 0, err
	}
	for _, f := range s.files {
		total += f.Size
	}
	_, err = w.Write(data)
	return total, err
}

// streamHeld is stream for contents in memory, which are written as they lie there.
func (s source) streamHeld(ctx context.Context, frame framing, w io.Writer) (total int64, err error) {
	var around []byte // what stands between two contents
	for _, f := range s.files {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		content, err := s.findHeld(f)
		if err != nil {
			return 0, err
		}
		around = frame.head(around, f)
		if _, err := w.Write(around); err != nil {
			return 0, err
		}
		if _, err := w.Write(content); err != nil {
			return 0, err
		}
		around = frame.appendTail(around[:0], f)
		total += f.Size
	}
	_, err = w.Write(around)
	return total, err
}

// findHeld returns the content of f in memory, which must have the size that was declared.
func (s source) findHeld(f File) ([]byte, error) {
	content, ok := s.held[f.Path]
	if !ok {
		return nil, fmt.Errorf("%+q: %w", f.Path, fs.ErrNotExist)
	}
	if int64(len(content)) != f.Size {
		return nil, sizeError(f, int64(len(content)))
	}
	return content, nil
}

// fillBuffer appends each file in its frame to buf, whose capacity suffices.
func fillBuffer(ctx context.Context, buf []byte, files []File, open Open, frame framing) ([]byte, error) {
	for _, f := range files {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		buf = frame.head(buf, f)
		r, err := open(f.Path)
		if err != nil {
			return nil, fmt.Errorf("%+q: %w", f.Path, err)
		}
		n, err := readFull(r, buf[len(buf):len(buf)+int(f.Size)+1])
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("%+q: %w", f.Path, err)
		}
		if int64(n) != f.Size {
			return nil, sizeError(f, int64(n))
		}
		buf = frame.appendTail(buf[:len(buf)+n], f)
	}
	return buf, nil
}

// readFull fills p or reads to the end of r, whichever comes first.
func readFull(r io.Reader, p []byte) (int, error) {
	n := 0
	for stalled := 0; n < len(p); {
		m, err := r.Read(p[n:])
		n += m
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if m > 0 {
			stalled = 0
		} else if stalled++; stalled > 100 {
			return n, io.ErrNoProgress
		}
	}
	return n, nil
}

// copyFile writes the content of f to w through buf.
func copyFile(ctx context.Context, w io.Writer, f File, open Open, buf []byte) error {
	r, err := open(f.Path)
	if err != nil {
		return fmt.Errorf("%+q: %w", f.Path, err)
	}
	defer r.Close()
	for left := f.Size; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// One byte more than is due, if there is room, shows whether the file has grown.
		p := buf[:min(int64(len(buf))-1, left)+1]
		n, err := readFull(r, p)
		if err != nil {
			return fmt.Errorf("%+q: %w", f.Path, err)
		}
		if int64(n) > left {
			return sizeError(f, f.Size+1)
		}
		if _, err := w.Write(p[:n]); err != nil {
			return err
		}
		left -= int64(n)
		switch {
		case n == len(p): // there may be more
		case left > 0:
			return sizeError(f, f.Size-left)
		default:
			return nil
		}
	}
}

// sizeError wraps [ErrChanged] for a file of which got bytes were read.
func sizeError(f File, got int64) error {
	if got > f.Size {
		return fmt.Errorf("%w: %+q has more than the %d bytes that it had", ErrChanged, f.Path, f.Size)
	}
	return fmt.Errorf("%w: %+q has %d bytes, and had %d", ErrChanged, f.Path, got, f.Size)
}
