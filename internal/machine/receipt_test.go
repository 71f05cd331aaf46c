package machine

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// TestSameReceipt: what differs in any one thing is written anew.
func TestSameReceipt(t *testing.T) {
	receipt := func(change func(*Receipt, *ReceiptAsset)) *Receipt {
		r := NewReceipt("/p")
		a := NewAsset("dir:tools", "skill", "notes", []string{"tools/a", "tools/b"}, nil)
		if change != nil {
			change(r, &a)
		}
		r.Facets["kit"] = ReceiptOfFacet{Version: "1.0.0" + r.Facets["kit"].Version, Assets: []ReceiptAsset{a},
			Private: r.Facets["kit"].Private, Adopted: r.Facets["kit"].Adopted, Copies: r.Facets["kit"].Copies}
		return r
	}
	if !receipt(nil).Same(receipt(nil)) {
		t.Error("a receipt is not the same as itself")
	}
	for name, change := range map[string]func(*Receipt, *ReceiptAsset){
		"receipt_version": func(r *Receipt, _ *ReceiptAsset) { r.Version++ },
		"project":         func(r *Receipt, _ *ReceiptAsset) { r.Project = "/q" },
		"a facet more":    func(r *Receipt, _ *ReceiptAsset) { r.Facets["other"] = ReceiptOfFacet{} },
		"version":         func(r *Receipt, _ *ReceiptAsset) { r.Facets["kit"] = ReceiptOfFacet{Version: "1"} },
		"private":         func(r *Receipt, _ *ReceiptAsset) { r.Facets["kit"] = ReceiptOfFacet{Private: []string{"x"}} },
		"adopted":         func(r *Receipt, _ *ReceiptAsset) { r.Facets["kit"] = ReceiptOfFacet{Adopted: []string{"x"}} },
		"copies":          func(r *Receipt, _ *ReceiptAsset) { r.Facets["kit"] = ReceiptOfFacet{Copies: []string{"x"}} },
		"clients":         func(r *Receipt, _ *ReceiptAsset) { r.Clients = map[string]string{"/h/.claude.json": "claude-code"} },
		"scope":           func(_ *Receipt, a *ReceiptAsset) { a.Scope = "user" },
		"target":          func(_ *Receipt, a *ReceiptAsset) { a.Target = "codex" },
		"type":            func(_ *Receipt, a *ReceiptAsset) { a.Type = "agent" },
		"name":            func(_ *Receipt, a *ReceiptAsset) { a.Name = "note" },
		"found":           func(_ *Receipt, a *ReceiptAsset) { a.Found = []string{"tools/c"} },
		"files":           func(_ *Receipt, a *ReceiptAsset) { a.Files = a.Files[:1] },
	} {
		if a, b := receipt(nil), receipt(change); a.Same(b) || b.Same(a) {
			t.Errorf("%s makes no difference", name)
		}
	}
	sums := func(change func(*Materialized)) *Materialized {
		m := NewMaterialized("/p")
		m.Files["a"], m.Files["b"] = digest.FromBytes([]byte("a")), digest.FromBytes([]byte("b"))
		if change != nil {
			change(m)
		}
		return m
	}
	if !sums(nil).Same(sums(nil)) {
		t.Error("digests are not the same as themselves")
	}
	for name, change := range map[string]func(*Materialized){
		"materialized_version": func(m *Materialized) { m.Version++ },
		"project":              func(m *Materialized) { m.Project = "/q" },
		"a digest":             func(m *Materialized) { m.Files["a"] = m.Files["b"] },
		"found":                func(m *Materialized) { m.Found["c"] = m.Files["b"] },
		"a file more":          func(m *Materialized) { m.Files["c"] = m.Files["b"] },
		"another file":         func(m *Materialized) { m.Files["c"] = m.Files["b"]; delete(m.Files, "b") },
	} {
		if a, b := sums(nil), sums(change); a.Same(b) || b.Same(a) {
			t.Errorf("%s makes no difference", name)
		}
	}
}

// TestReceiptVectors: the receipts and digests of spec/lock.json are read, or refused for what they name.
func TestReceiptVectors(t *testing.T) {
	data, err := os.ReadFile("../../spec/lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Receipt      []struct{ Name, Text, Error string }
		Materialized []struct{ Name, Text, Error string }
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Receipt) < 6 || len(vectors.Materialized) < 5 {
		t.Fatal("vectors are missing")
	}
	check := func(kind, name string, err error, want string) {
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s: got %v, want %q", kind, name, err, want)
		}
	}
	for _, v := range vectors.Receipt {
		_, err := ParseReceipt([]byte(v.Text), "/home/me/project")
		check("receipt", v.Name, err, v.Error)
	}
	for _, v := range vectors.Materialized {
		_, err := ParseMaterialized([]byte(v.Text), "/home/me/project")
		check("materialized", v.Name, err, v.Error)
	}
	if _, err := ParseReceipt([]byte(vectors.Receipt[0].Text), "/elsewhere"); !errors.Is(err, ErrOtherProject) {
		t.Error(err)
	}
}
