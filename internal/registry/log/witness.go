package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Witness is somebody who cosigns the checkpoints of a log after checking that it only
// grows, over C2SP tlog-witness.
type Witness struct {
	Key note.Verifier
	URL string // the submission prefix
}

// Times of asking witnesses.
const (
	witnessPause   = time.Second      // between rounds, at least
	witnessTimeout = 10 * time.Second // of one request
	witnessRefresh = 10 * time.Minute // after which a checkpoint is cosigned anew, so that it is fresh
	witnessAhead   = 5 * time.Minute  // that a witness's clock may be ahead
	witnessKeep    = 5 * time.Minute  // that a checkpoint with more cosignatures is served instead of a newer one
)

// ParseWitness reads "KEY=URL". The URL is https, or http on this machine.
func ParseWitness(s string) (Witness, error) {
	for _, scheme := range []string{"=https://", "=http://"} {
		i := strings.LastIndex(s, scheme)
		if i < 0 {
			continue
		}
		key, err := ledger.ParseWitness(s[:i])
		if err != nil {
			return Witness{}, err
		}
		u, err := url.Parse(s[i+1:])
		if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
			u.Scheme == "http" && !artifact.IsLoopback(u.Hostname()) {
			return Witness{}, fmt.Errorf("witness %+q: its URL is not https://host[:port][/path]", key.Name())
		}
		return Witness{key, strings.TrimRight(u.String(), "/")}, nil
	}
	return Witness{}, fmt.Errorf("witness %+.200q: not KEY=URL", s)
}

// feeder sends the checkpoints of a log to its witnesses.
type feeder struct {
	log       *Log
	witnesses []Witness
	trust     ledger.Trust // with the witnesses' keys
	client    *http.Client
	known     []int64 // the size that each witness cosigned last, as far as is known
}

// Feed sends the log's checkpoints to witnesses until ctx ends, the newest there is when
// those before are answered, and serves what they cosigned. A witness gets one request at
// a time. It returns at once if no witness is given.
func (l *Log) Feed(ctx context.Context, witnesses []Witness) {
	if len(witnesses) == 0 {
		return
	}
	f := &feeder{log: l, witnesses: witnesses, trust: ledger.Trust{Log: l.trust.Log},
		known: make([]int64, len(witnesses)),
		client: &http.Client{Timeout: witnessTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	for _, w := range witnesses {
		f.trust.Witnesses = append(f.trust.Witnesses, w.Key)
	}
	var (
		asked ledger.Checkpoint
		at    time.Time
		again time.Duration // after which the same checkpoint is sent again
	)
	for ctx.Err() == nil {
		if head := l.Head(); head.Size > 0 && (head.Checkpoint != asked || time.Since(at) > again) {
			if head.Checkpoint != asked {
				again = 0
			}
			asked, at = head.Checkpoint, time.Now()
			if err := f.askAll(ctx, head); err == nil {
				again = witnessRefresh
			} else if again = min(max(2*again, witnessPause), witnessRefresh); ctx.Err() == nil {
				l.logger.Error("log not cosigned", "error", err)
			}
		} else if err := f.serve(ctx, ledger.Signed{}); err != nil && ctx.Err() == nil { // of other replicas
			l.logger.Error("cosigned checkpoint not read", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(witnessPause):
		}
	}
}

// askAll asks every witness once, and serves what they cosigned.
func (f *feeder) askAll(ctx context.Context, head ledger.Signed) error {
	answers, faults := make([][]byte, len(f.witnesses)), make([]error, len(f.witnesses))
	var wg sync.WaitGroup
	for i := range f.witnesses {
		wg.Go(func() { answers[i], faults[i] = f.ask(ctx, i, head) })
	}
	wg.Wait()
	cosigned := head
	for i, answer := range answers {
		if faults[i] != nil || answer == nil {
			continue
		}
		signed, err := ledger.AddCosignatures(cosigned, answer, f.witnesses[i].Key)
		if err != nil {
			faults[i] = err
			continue
		}
		s, err := f.trust.Open(signed)
		// One witness with a wrong clock must not decide what is the newest.
		if err == nil && s.CosignedAt(1).After(time.Now().Add(witnessAhead)) {
			err = fmt.Errorf("it cosigned in the future, at %s", s.CosignedAt(1).Format(time.RFC3339))
		}
		if err != nil {
			faults[i] = fmt.Errorf("witness %+q: %w", f.witnesses[i].Key.Name(), err)
			continue
		}
		cosigned.Note = signed
	}
	cosigned, err := f.trust.Open(cosigned.Note)
	if err != nil {
		return err
	}
	return errors.Join(errors.Join(faults...), f.serve(ctx, cosigned))
}

// serve keeps a cosigned checkpoint, and serves it or a better one that another replica has kept.
// With a checkpoint without cosignatures it only serves what is kept.
func (f *feeder) serve(ctx context.Context, cosigned ledger.Signed) error {
	state, err := f.log.entries.LogState(ctx)
	if err != nil {
		return err
	}
	best := cosigned
	if state.Cosigned != nil {
		kept, err := f.trust.Open(state.Cosigned)
		// A checkpoint from before a change of the key or of the witnesses does not count.
		if err == nil && len(kept.Cosignatures) > 0 && !kept.CosignedAt(1).After(time.Now().Add(witnessAhead)) &&
			better(kept, cosigned) {
			best = kept
		}
	}
	if len(best.Cosignatures) == 0 {
		return nil
	}
	f.log.mu.Lock()
	if better(best, f.log.served) {
		f.log.served = best
	}
	f.log.mu.Unlock()
	if bytes.Equal(best.Note, state.Cosigned) {
		return nil
	}
	return f.log.entries.SetLogState(ctx, registry.LogState{Signed: true, Cosigned: best.Note})
}

// better reports whether a is served rather than b: for more cosignatures for some time,
// else because it is newer.
func better(a, b ledger.Signed) bool {
	switch {
	case len(b.Cosignatures) == 0:
		return true
	case len(a.Cosignatures) != len(b.Cosignatures):
		more, fewer := a, b
		if len(a.Cosignatures) < len(b.Cosignatures) {
			more, fewer = b, a
		}
		return (fewer.CosignedAt(1).Sub(more.CosignedAt(1)) < witnessKeep) ==
			(len(a.Cosignatures) > len(b.Cosignatures))
	case a.Size != b.Size:
		return a.Size > b.Size
	}
	return a.CosignedAt(1).After(b.CosignedAt(1))
}

// ask sends a checkpoint to one witness and returns its answer. A witness that cosigned
// another size than was known says which.
func (f *feeder) ask(ctx context.Context, i int, head ledger.Signed) ([]byte, error) {
	w := f.witnesses[i]
	for range 3 {
		request := ledger.AddCheckpoint{Old: min(f.known[i], head.Size), Checkpoint: head.Note}
		if request.Old > 0 && request.Old < head.Size {
			proof, err := tlog.ProveTree(head.Size, request.Old, f.log.hashes(ctx))
			if err != nil {
				return nil, fmt.Errorf("witness %+q: %w", w.Key.Name(), err)
			}
			request.Proof = proof
		}
		status, answer, err := f.post(ctx, w, request.Marshal())
		if err != nil {
			return nil, fmt.Errorf("witness %+q: %w", w.Key.Name(), err)
		}
		switch status {
		case http.StatusOK:
			f.known[i] = head.Size
			return answer, nil
		case http.StatusConflict:
			size, err := strconv.ParseInt(strings.TrimSuffix(string(answer), "\n"), 10, 64)
			if err != nil || size < 0 || size == request.Old {
				return nil, fmt.Errorf("witness %+q: it knows another log of this name, or answers wrongly: %+.80q",
					w.Key.Name(), answer)
			}
			if f.known[i] = size; size > head.Size {
				return nil, nil // cosigned by way of another replica; the next one is newer
			}
		default:
			return nil, fmt.Errorf("witness %+q: status %d: %+.200q", w.Key.Name(), status, answer)
		}
	}
	return nil, fmt.Errorf("witness %+q: it cosigns another size each time", w.Key.Name())
}

func (f *feeder) post(ctx context.Context, w Witness, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/add-checkpoint", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	req.Header.Set("User-Agent", "hallmark")
	res, err := f.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, ledger.MaxCheckpoint))
	return res.StatusCode, answer, err
}
