package guard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// TestMemory: when drift cannot be remembered the kind is refused, and stays refused.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	a := Approved{Items: guardtest.Approve(t, "tool", guardtest.AddTool, "prompt", `{"name":"p"}`)}
	for _, size := range []int{10, jsonrpc.MaxName - 20} {
		g := NewState(a, nil)
		before := guardtest.HeapInUse()
		for i := range jsonrpc.MaxEntries + 1 {
			g.JudgePage(surface.KindTool, []json.RawMessage{fmt.Appendf(nil, `{"name":"%d%s","inputSchema":{}}`, i,
				strings.Repeat("x", size))})
		}
		if grown := guardtest.HeapInUse() - before; grown > 30<<20 {
			t.Errorf("size %d: %d MiB more are in use", size, grown>>20)
		}
		for range 2 {
			if why := g.RefuseItem(surface.KindTool, "add"); !strings.Contains(why,
				"more of the server's tools drifted than") {
				t.Errorf("size %d: refused because %q", size, why)
			}
			if keep, _, _ := g.JudgePage(surface.KindTool,
				[]json.RawMessage{json.RawMessage(guardtest.AddTool)}); keep[0] {
				t.Errorf("size %d: a tool is shown", size)
			}
			if why := g.RefuseItem(surface.KindPrompt, "p"); why != "" {
				t.Errorf("size %d: the prompt is refused: %s", size, why)
			}
			g.SetListing(surface.KindTool, []json.RawMessage{json.RawMessage(guardtest.AddTool)},
				nil) // changes nothing
		}
		if why := g.Report().Failed[surface.KindTool]; why == "" {
			t.Error("the report says nothing")
		}
	}
	g := NewState(a, nil)
	var many []json.RawMessage
	for i := range 3000 {
		many = append(many, fmt.Appendf(nil, `{"name":"%d%s","inputSchema":{}}`, i,
			strings.Repeat("x", jsonrpc.MaxName-20)))
	}
	g.SetListing(surface.KindTool, many, nil)
	if why := g.RefuseItem(surface.KindTool, "add"); why == "" {
		t.Error("a listing with more drift than can be remembered")
	}
	g.SetListing(surface.KindTool, []json.RawMessage{json.RawMessage(guardtest.AddTool)}, nil)
	if why := g.RefuseItem(surface.KindTool, "add"); why != "" || g.listed.Size() != 0 {
		t.Errorf("the next listing: %q, %d bytes", why, g.listed.Size())
	}
}

// TestVarying: what varies is withheld whatever it shows, and is neither drift nor a reason to refuse the rest. Of two
// of one name that is still drift.
func TestVarying(t *testing.T) {
	const clock, page = `{"name":"clock","inputSchema":{}}`, `{"uriTemplate":"file:///{p}","name":"p"}`
	items := guardtest.Approve(t, "tool", guardtest.AddTool)
	varying := []string{"instructions", "template:file:///{p}", "tool:clock"}
	g := NewState(Approved{Items: items, Varying: varying}, nil)
	if d := g.JudgeInstructions("It is noon.", false); d == nil || d.Reason != Varying {
		t.Errorf("instructions: %v", d)
	}
	tools := []json.RawMessage{json.RawMessage(clock), json.RawMessage(guardtest.AddTool)}
	templates := []json.RawMessage{json.RawMessage(page)}
	for range 2 {
		g.SetListing(surface.KindTool, tools, nil)
		g.SetListing(surface.KindTemplate, templates, nil)
		keep, drifted, again := g.JudgePage(surface.KindTool, tools)
		if keep[0] || !keep[1] || again || len(drifted) != 1 || drifted[0].Reason != Varying {
			t.Errorf("%v, %v, list again %v", keep, drifted, again)
		}
		for name, why := range map[string]string{"clock": g.RefuseItem(surface.KindTool, "clock"),
			"template": g.RefuseReference("file:///{p}"), "URI": g.RefuseURI("file:///a", true)} {
			if !strings.HasSuffix(why, Varying) {
				t.Errorf("%s: %q", name, why)
			}
		}
		if why := g.RefuseItem(surface.KindTool, "add") + g.RefuseAll(); why != "" {
			t.Errorf("the rest is refused: %s", why)
		}
		if r := g.Report(); len(r.Drift)+len(r.Failed)+len(r.Absent) > 0 {
			t.Errorf("reported: %+v", r)
		}
		tools[0], templates[0] = json.RawMessage(strings.Replace(clock, "{}", `{"x":1}`, 1)), json.RawMessage(page)
	}
	g.SetListing(surface.KindTool, append(tools, tools[0]), nil)
	if r := g.Report(); len(r.Drift) != 1 || r.Drift[0].Reason != Duplicate || g.RefuseAll() == "" {
		t.Errorf("two of one name: %+v", r)
	}
	if why := NewState(Approved{Varying: varying}, nil).RefuseItem(surface.KindTool, "clock"); !strings.HasSuffix(why, Varying) {
		t.Errorf("before it was listed: %q", why)
	}
}

// TestListingsAddUp: kinds that are listed one after another share one limit.
func TestListingsAddUp(t *testing.T) {
	g := NewState(Approved{}, nil)
	big := json.RawMessage(strings.Repeat("x", MaxSize/2+1)) // malformed, which is quick
	g.SetListing(surface.KindTool, []json.RawMessage{big}, nil)
	g.SetListing(surface.KindPrompt, []json.RawMessage{big}, nil)
	if g.failed[surface.KindTool] != "" || g.failed[surface.KindPrompt] == "" || len(g.listing.Prompts) != 0 {
		t.Errorf("failed %v", g.failed)
	}
	g.SetListing(surface.KindTool, nil, nil)
	g.SetListing(surface.KindPrompt, []json.RawMessage{big}, nil)
	if g.failed[surface.KindPrompt] != "" {
		t.Errorf("failed %v", g.failed)
	}
}

// TestLongNames: what cannot be looked up is refused, also under another spelling.
func TestLongNames(t *testing.T) {
	long := "file:///" + strings.Repeat("./", jsonrpc.MaxName) + "a"
	for _, kind := range []surface.Kind{surface.KindTool, surface.KindResource, surface.KindTemplate} {
		for escape, name := range map[string]string{"": long, "\\u0041": strings.Repeat("\\u0041", jsonrpc.MaxName+1)} {
			naming := Methods[map[surface.Kind]int{surface.KindTool: 0, surface.KindResource: 2,
				surface.KindTemplate: 3}[kind]].Naming
			raw := json.RawMessage(`{"` + naming + `":"` + name + `","inputSchema":{}}`)
			it, err := surface.NewItem(kind, raw)
			if err != nil {
				t.Fatal(err)
			}
			g := NewState(Approved{Items: map[string]digest.Digest{it.Key(): it.Digest}}, nil) // even approved
			g.SetListing(kind, []json.RawMessage{raw}, nil)
			keep, drifted, _ := g.JudgePage(kind, []json.RawMessage{raw})
			if keep[0] || len(drifted) != 1 || drifted[0].Reason != Malformed || len(drifted[0].Key) > 200 {
				t.Errorf("%s %q: shown %v", kind, escape, keep[0])
			}
			if g.RefuseItem(kind, it.Name) == "" || kind == surface.KindResource && g.RefuseURI(it.Name, true) == "" {
				t.Errorf("%s %q: not refused", kind, escape)
			}
			if why := g.RefuseURI("file:///a", true); (why == "") != (kind == surface.KindTool) {
				t.Errorf("%s %q: another URI: %q", kind, escape, why)
			}
		}
	}
	g := NewState(Approved{}, nil)
	if at := g.judgeItems(surface.KindTool,
		[]json.RawMessage{json.RawMessage(`{"name":"` + long + `"}`),
			json.RawMessage(`{"name":"` + long + `"}`)}); at[0].drift.Reason != Duplicate {
		t.Errorf("twice the same long name: %v", at[0].drift)
	}
}
