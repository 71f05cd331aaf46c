package trail_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// loneRecord is a locked record in a log of its own with one entry, under key.
func loneRecord(t *testing.T, key ledger.Key, version string) (project.RecordLock, []byte) {
	t.Helper()
	r := project.RecordLock{Registry: "registry.example.com", Name: "io.github.acme/notes", Version: version,
		Document: digest.FromBytes([]byte(version))}
	leaf, err := ledger.Leaf{
		Kind: ledger.Server, Name: r.Name, Version: version, Document: r.Document, Publisher: "github:acme",
		At: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
	}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	head, err := ledger.Checkpoint{Origin: key.Name(), Size: 1, Root: tlog.RecordHash(leaf)}.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	r.Proof = string(ledger.Proof{Leaf: leaf, Checkpoint: head}.Marshal())
	return r, head
}

// Many records of a lock are proven by one checkpoint, which is opened once. What is wrong
// with one of them is found all the same, and says nothing of another, in whatever order and
// however many are verified at once.
func TestLockedProofs(t *testing.T) {
	secret, public, err := ledger.GenerateKey(rand.Reader, "log.example.com")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ledger.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	good, head := loneRecord(t, key, "1.0.0")
	forked, _ := loneRecord(t, key, "2.0.0")
	document, swapped, unsigned := good, good, good
	document.Document = digest.FromBytes([]byte("other"))
	swapped.Version = "2.0.0"
	unsigned.Proof = strings.Replace(good.Proof, "\n1\n", "\n2\n", 1) // of the size that is signed
	if unsigned.Proof == good.Proof {
		t.Fatal(good.Proof)
	}
	rules := project.Registry{URL: "https://registry.example.com", LogKey: public}
	want := map[string]evidence.Class{"good": evidence.OK, "document": evidence.Integrity,
		"swapped": evidence.Integrity, "unsigned": evidence.Integrity}
	records := map[string]project.RecordLock{"good": good, "document": document, "swapped": swapped,
		"unsigned": unsigned}
	w := &workspace.Workspace{Host: hosttest.New(t), Config: &project.Config{Registry: rules}}
	logs := w.Logs(trail.Options{})
	var group sync.WaitGroup
	for range 8 {
		for name, r := range records {
			group.Go(func() {
				report, err := logs.LockedProof(&r)
				if v := policy.Judge(policy.Check, policy.Settings{}, report); err != nil || v.Class() != want[name] ||
					len(report) < 2 {
					t.Errorf("%s: %v %v", name, err, report)
				}
				if name == "unsigned" && !slices.ContainsFunc(report, func(e evidence.Evidence) bool {
					return strings.Contains(e.Reason, ledger.ErrSignature.Error())
				}) {
					t.Errorf("%s: nothing of its signature: %v", name, report)
				}
				for i := range report { // is the caller's own
					report[i].Subject = "changed"
				}
			})
		}
	}
	group.Wait()

	// A checkpoint that contradicts the one which this machine was shown is a fork, each time.
	err = trail.ChangeLogs(context.Background(), w.Host, func(logs *machine.Logs) bool {
		logs.Rely(rules.Name(), public, time.Now(), string(head))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	logs = w.Logs(trail.Options{})
	for range 2 {
		if report, err := logs.LockedProof(&good); err != nil ||
			policy.Judge(policy.Check, policy.Settings{}, report).Class() != evidence.OK {
			t.Errorf("%v %v", err, report)
		}
		_, err := logs.LockedProof(&forked)
		hosttest.RefusedWith(t, err, evidence.Integrity, "SECURITY ERROR", "this machine was shown", project.LockFile+" has")
	}
}
