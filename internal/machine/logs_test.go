package machine

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// seenLog is the key of a log and a checkpoint that it signed.
func seenLog(t *testing.T, origin string) (key, note string) {
	t.Helper()
	secret, key, err := ledger.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ledger.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	text, err := ledger.Checkpoint{Origin: origin, Size: 7}.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	return key, string(text)
}

// What a machine saw of logs is read whole or not at all: whatever is taken out of it, or
// emptied, it is malformed, and never a machine that has seen less.
func TestLogsAreWhole(t *testing.T) {
	one, noteOne := seenLog(t, "one.example.com")
	two, noteTwo := seenLog(t, "two.example.com")
	logs, err := ParseLogs(nil)
	if err != nil {
		t.Fatal(err)
	}
	logs.Rely("one.example.com", one, time.Now().UTC(), noteOne)
	logs.Rely("mirror.example.com", one, time.Now().UTC(), noteOne)
	logs.Rely("two.example.com", two, time.Now().UTC(), noteTwo)
	if key := logs.Forget("two.example.com"); key != two || !slices.Equal(logs.Forgotten, []string{two}) {
		t.Fatalf("%s, %q", key, logs.Forgotten)
	}
	if key := logs.Forget("mirror.example.com"); key != one || len(logs.Forgotten) != 1 {
		t.Fatalf("forgot what another registry has: %q", logs.Forgotten)
	}
	whole, err := logs.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if read, err := ParseLogs(whole); err != nil || !slices.Equal(read.Forgotten, []string{two}) {
		t.Fatalf("%v in %s", err, whole)
	}
	var v any
	if err := json.Unmarshal(whole, &v); err != nil {
		t.Fatal(err)
	}
	old := bytes.Replace(whole, []byte(`"logs_version": 2`), []byte(`"logs_version": 1`), 1)
	cases := without("", v)
	if len(cases) < 14 {
		t.Fatalf("%d cases", len(cases))
	}
	for name, content := range cases {
		if l, err := ParseLogs(content); err == nil {
			t.Errorf("%s: read as %+v", name, l)
		}
	}
	for at := range whole[:len(whole)-2] {
		if l, err := ParseLogs(whole[:at]); err == nil {
			t.Errorf("cut at %d: read as %+v", at, l)
		}
	}
	if _, err := ParseLogs(old); err == nil {
		t.Error("version 1 has no forgotten")
	}
	// Version 1 is read as if what no registry has was forgotten; with a key that has no
	// checkpoint it is malformed.
	var first map[string]any
	if err := json.Unmarshal(whole, &first); err != nil {
		t.Fatal(err)
	}
	delete(first, "forgotten")
	first["logs_version"] = 1
	text, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseLogs(text)
	if err != nil || !slices.Equal(read.Forgotten, []string{two}) || read.Version != 2 {
		t.Fatalf("%v, %+v", err, read)
	}
	if text, err := read.Encode(); err != nil || !bytes.Equal(text, whole) {
		t.Errorf("%v: %s", err, text)
	}
	delete(first["checkpoints"].(map[string]any), one)
	if text, err = json.Marshal(first); err != nil {
		t.Fatal(err)
	}
	if l, err := ParseLogs(text); err == nil {
		t.Errorf("a key without a checkpoint: %+v", l)
	}
	// Who accepts a key again does not forget it.
	read.Rely("two.example.com", two, time.Now().UTC(), noteTwo)
	if len(read.Forgotten) != 0 {
		t.Errorf("%q", read.Forgotten)
	}
}

// without are documents of which one member or element each is gone, or is empty.
func without(at string, v any) map[string][]byte {
	cases := map[string][]byte{}
	var walk func(path string, v any, put func(any) any)
	add := func(name string, doc any) {
		text, err := json.Marshal(doc)
		if err != nil {
			panic(err)
		}
		cases[name] = text
	}
	walk = func(path string, v any, put func(any) any) {
		if path != "" {
			add(path+" is null", put(nil))
		}
		switch v := v.(type) {
		case map[string]any:
			if len(v) > 0 {
				add(path+" emptied", put(map[string]any{}))
			}
			for name, member := range v {
				less := map[string]any{}
				for n, m := range v {
					if n != name {
						less[n] = m
					}
				}
				add(fmt.Sprintf("%s.%s removed", path, name), put(less))
				walk(path+"."+name, member, func(to any) any {
					other := map[string]any{name: to}
					for n, m := range less {
						other[n] = m
					}
					return put(other)
				})
			}
		case []any:
			for i := range v {
				add(fmt.Sprintf("%s[%d] removed", path, i), put(slices.Delete(slices.Clone(v), i, i+1)))
			}
		case string:
			add(path+" emptied", put(""))
		}
	}
	walk(at, v, func(to any) any { return to })
	return cases
}
