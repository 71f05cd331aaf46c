package monitor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// WitnessOptions describe a witness.
type WitnessOptions struct {
	Addr    string   // address to listen on
	KeyFile string   // created if it is missing
	Name    string   // of a new key; "" is one that nobody else has
	State   string   // directory of the newest checkpoints
	Logs    []string // verifier keys of the logs to cosign
	Begin   bool     // cosign logs of which State has nothing; with a new key this is always allowed
	Logger  *slog.Logger
	// Listening is called once requests are accepted; may be nil.
	Listening func(addr net.Addr, verifierKey string)
}

// maxSignerKey bounds the file of a key, in bytes.
const maxSignerKey = 4 << 10

// Witness cosigns the checkpoints of logs until ctx ends.
func Witness(ctx context.Context, o WitnessOptions) error {
	fault := func(kind evidence.Class, err error) error { return evidence.Errorf(kind, "witness", "", err) }
	key, created, err := openWitnessKey(ctx, o)
	if err != nil {
		return err
	}
	w, err := OpenWitness(WitnessConfig{Dir: o.State, Key: key, Logs: o.Logs, Begin: o.Begin || created,
		Logger: o.Logger})
	if err != nil {
		return fault(evidence.ClassOf(err), err)
	}
	defer w.Close()
	if o.Begin && len(w.Begun) == 0 { // a flag that stays set would begin again after the state is lost
		return evidence.Errorf(evidence.Validation, "witness",
			"start without --begin, which is for the first start with a log",
			fmt.Errorf("%s has a state of each log: there is none to begin with", o.State))
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return fault(evidence.Operation, err)
	}
	if o.Listening != nil {
		o.Listening(listener.Addr(), key.VerifierKey)
	}
	return registry.ServeHTTP(ctx, listener, w, nil, nil)
}

// openWitnessKey opens the key that cosigns, and reports whether it was created.
func openWitnessKey(ctx context.Context, o WitnessOptions) (key ledger.Key, created bool, err error) {
	name := o.Name
	if _, err := os.Lstat(o.KeyFile); name == "" && errors.Is(err, os.ErrNotExist) {
		id := make([]byte, 8)
		rand.Read(id) // never fails
		name = "hallmark-witness-" + hex.EncodeToString(id)
	}
	_, created, err = registry.OpenLogKey(ctx, o.KeyFile, name)
	if err != nil {
		return ledger.Key{}, false, evidence.Errorf(evidence.ClassOf(err), "witness", "", err)
	}
	secret, err := host.ReadNamed(o.KeyFile, maxSignerKey)
	if err != nil {
		return ledger.Key{}, false, evidence.Errorf(evidence.Operation, "witness", "", err)
	}
	key, err = ledger.ParseWitnessKey(strings.TrimSuffix(string(secret), "\n"))
	if err != nil {
		return ledger.Key{}, false, evidence.Errorf(evidence.Validation, "witness", "", err)
	}
	return key, created, nil
}
