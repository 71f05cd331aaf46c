package monitor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/ledger"
	"golang.org/x/mod/sumdb/tlog"
)

// Cosigner is a witness of logs, in the protocol of C2SP tlog-witness: an [http.Handler] that keeps the newest
// checkpoint of each log that it knows, and cosigns one that continues it. A log that shows two histories finds no
// honest witness for both. It is safe for concurrent use.
//
//	POST /add-checkpoint    old size, consistency proof and checkpoint; see [ledger.AddCheckpoint]
//
// The answers, as the protocol has them:
//
//	200  the cosignature, with the time
//	400  the request is malformed, or its old size is larger than its checkpoint's
//	403  no key that is known for the log signed the checkpoint
//	404  the log is not known
//	409  another size was cosigned last, which is the body; or another tree of this size,
//	     which no honest log has
//	422  the proof does not show that the checkpoint continues what was cosigned last
//
// What is cosigned is on disk before it is answered, so that a crash never lets a witness
// cosign two histories. For the same reason a witness does not start with a log of which it
// has no state, unless its operator says that it never cosigned that log: after the loss of
// a disk the witness would cosign whatever history it is shown first.
type Cosigner struct {
	Begun []string // the origins of the logs that had no state when Open began to cosign them

	key    ledger.Key
	dir    string
	logs   map[string]ledger.Trust // by origin
	logger *slog.Logger
	unlock func()

	mu sync.Mutex // held while one checkpoint is compared, kept and cosigned
}

// WitnessConfig describes a witness.
type WitnessConfig struct {
	Dir    string     // where it keeps its checkpoints; no other process may use it at the same time
	Key    ledger.Key // that cosigns
	Logs   []string   // verifier keys of the logs that it knows
	Begin  bool       // the key cosigned nothing yet of the logs of which Dir has no state; else they are refused
	Logger *slog.Logger
}

// OpenWitness opens a witness, whose directory it makes if need be. Its error is of class Refused if Dir has
// no state of a log and Config.Begin is not set, wraps [durable.ErrLocked] if another process has
// the directory, and else says which log or file is at fault.
func OpenWitness(c WitnessConfig) (*Cosigner, error) {
	w := &Cosigner{key: c.Key, dir: c.Dir, logs: map[string]ledger.Trust{}, logger: c.Logger}
	for _, k := range c.Logs {
		trust, err := ledger.NewTrust(k, nil, 0)
		if err != nil {
			return nil, err
		}
		origin := trust.Log.Name()
		if _, ok := w.logs[origin]; ok {
			return nil, fmt.Errorf("the log %+q is given twice", origin)
		}
		if origin == c.Key.Name() {
			return nil, fmt.Errorf("the witness has the name of the log %+q", origin)
		}
		w.logs[origin] = trust
	}
	if len(w.logs) == 0 {
		return nil, errors.New("a witness needs a log")
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if w.unlock, err = durable.TryLock(filepath.Join(c.Dir, "lock"), "the witness"); err != nil {
		return nil, err
	}
	if err := w.load(c.Begin); err != nil {
		w.unlock()
		return nil, err
	}
	return w, nil
}

// load reads the kept state of each log, and writes an empty state for the logs that it begins with.
func (w *Cosigner) load(begin bool) error {
	for _, origin := range slices.Sorted(maps.Keys(w.logs)) {
		switch _, err := w.readNewest(origin); {
		case errors.Is(err, fs.ErrNotExist):
			w.Begun = append(w.Begun, origin)
		case err != nil:
			return err
		}
	}
	if !begin && len(w.Begun) > 0 {
		return evidence.Errorf(evidence.Refused, w.dir,
			"restore the directory, or put the newest checkpoint that this witness cosigned there as that file; only "+
				"if it never cosigned one of the log start with --begin",
			fmt.Errorf("has no state of the log %+q, which this witness may have cosigned before: %s is not there",
				w.Begun[0], filepath.Base(w.checkpointFile(w.Begun[0]))))
	}
	for _, origin := range w.Begun {
		w.logger.Info("log begun with", "origin", origin)
		if err := durable.WriteFile(w.checkpointFile(origin), []byte(emptyMark+origin+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// emptyMark and the origin are the kept state of a log before its first checkpoint.
const emptyMark = "nothing cosigned of "

// Close lets other processes use the directory.
func (w *Cosigner) Close() { w.unlock() }

// ServeHTTP implements [http.Handler].
func (w *Cosigner) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/add-checkpoint":
		http.Error(out, "no such path", http.StatusNotFound)
		return
	case r.Method != http.MethodPost:
		out.Header().Set("Allow", http.MethodPost)
		http.Error(out, "POST only", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, ledger.MaxProof+1))
	if err != nil {
		http.Error(out, "the request did not come in whole", http.StatusBadRequest)
		return
	}
	line, refused := w.addCheckpoint(body)
	if refused == nil {
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		out.Write(line)
		return
	}
	if refused.status >= 500 || refused.alarm {
		w.logger.Error("not cosigned", "log", refused.origin, "status", refused.status, "why", refused.why)
	}
	if refused.status == http.StatusConflict {
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(refused.status)
		fmt.Fprintf(out, "%d\n", refused.size)
		return
	}
	http.Error(out, refused.why, refused.status)
}

// refusal is an answer without a cosignature.
type refusal struct {
	status int
	why    string
	origin string
	size   int64 // that was cosigned last, of a conflict
	alarm  bool  // the log signed two histories
}

// addCheckpoint judges one request: it returns the cosignature, or why there is none.
func (w *Cosigner) addCheckpoint(body []byte) ([]byte, *refusal) {
	request, err := ledger.ParseAddCheckpoint(body)
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, why: err.Error()}
	}
	origin, _, _ := strings.Cut(string(request.Checkpoint), "\n")
	trust, ok := w.logs[origin]
	if !ok {
		return nil, &refusal{status: http.StatusNotFound, why: "no such log"}
	}
	refuse := func(status int, why string) ([]byte, *refusal) {
		return nil, &refusal{status: status, why: why, origin: origin}
	}
	s, err := trust.Open(request.Checkpoint)
	if errors.Is(err, ledger.ErrSignature) {
		return refuse(http.StatusForbidden, err.Error())
	}
	if err != nil || request.Old > s.Size {
		return refuse(http.StatusBadRequest, "checkpoint: malformed, or smaller than the old size")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last, err := w.readNewest(origin)
	if err != nil {
		return refuse(http.StatusInternalServerError, "the newest checkpoint cannot be read")
	}
	if request.Old != last.Size {
		return nil, &refusal{status: http.StatusConflict, origin: origin, size: last.Size,
			why: "another size was cosigned last"}
	}
	if refused := checkContinues(last, s, request.Proof); refused != nil {
		refused.origin = origin
		return nil, refused
	}
	line, err := ledger.Cosign(s, w.key)
	if err != nil {
		return refuse(http.StatusInternalServerError, "the checkpoint cannot be cosigned")
	}
	if last.Note == nil || s.Size > last.Size {
		if err := durable.WriteFile(w.checkpointFile(origin), s.Note, 0o600); err != nil {
			w.logger.Error("write", "error", err)
			return refuse(http.StatusInternalServerError, "the checkpoint cannot be kept")
		}
	}
	return line, nil
}

// checkContinues returns nil if the proof shows that s continues last, which has no note before the
// first checkpoint.
func checkContinues(last, s ledger.Signed, proof []tlog.Hash) *refusal {
	if last.Note == nil {
		if len(proof) > 0 {
			return &refusal{status: http.StatusUnprocessableEntity, why: "a proof from no checkpoint has no hashes"}
		}
		return nil
	}
	err := ledger.CheckConsistency(last.Checkpoint, s.Checkpoint, proof)
	if err == nil {
		return nil
	}
	status, forked := http.StatusUnprocessableEntity, s.Size == last.Size && s.Root != last.Root
	if forked {
		status = http.StatusConflict
	}
	return &refusal{status: status, why: err.Error(), size: last.Size, alarm: forked}
}

// readNewest returns the checkpoint that was cosigned last, or the zero value if there is none yet. A
// file that is missing or cannot be read is an error: a witness that began again could cosign a
// second history.
func (w *Cosigner) readNewest(origin string) (ledger.Signed, error) {
	path := w.checkpointFile(origin)
	data, err := durable.ReadFile(path, ledger.MaxCheckpoint)
	if err != nil {
		return ledger.Signed{}, err
	}
	if string(data) == emptyMark+origin+"\n" {
		return ledger.Signed{}, nil
	}
	s, err := w.logs[origin].Open(data)
	if err != nil {
		return ledger.Signed{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// checkpointFile is the path of the kept state of a log.
func (w *Cosigner) checkpointFile(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return filepath.Join(w.dir, hex.EncodeToString(sum[:8])+".checkpoint")
}
