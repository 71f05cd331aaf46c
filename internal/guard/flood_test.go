package guard

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// TestHugeNames: a server that shows a new tool with a huge name in every listing
// does not fill memory.
func TestHugeNames(t *testing.T) {
	p := startSelf(t, "flood")
	c := relayTo(t, p, Options{Observed: func(Report) {}})
	c.shake()
	c.send(callTool("1", "x"))
	c.wantError("1", codeWithheld, "never approved")
	before := heap()
	for range 5 {
		c.send(listTools)
		c.want(`{"jsonrpc":"2.0","id":"list","result":{"tools":[]}}`)
	}
	const most = 48 << 20 // one line, one listing, and little else
	if grown := heap() - before; grown > most {
		t.Errorf("%d MiB more are in use", grown>>20)
	}
	if !strings.Contains(c.notes.String(), Malformed) || len(c.notes.String()) > 10_000 {
		t.Errorf("notes of %d bytes", len(c.notes.String()))
	}
}

// TestMemory: when what drifted cannot be remembered the kind is refused, and stays so.
func TestMemory(t *testing.T) {
	a := approve(t, "tool", addTool, "prompt", `{"name":"p"}`)
	for _, size := range []int{10, maxName - 20} {
		g := newSight(a, nil)
		before := heap()
		for i := range maxSeen + 1 {
			g.page(surface.KindTool, []rawItem{fmt.Appendf(nil, `{"name":"%d%s","inputSchema":{}}`, i, strings.Repeat("x", size))})
		}
		if grown := heap() - before; grown > 30<<20 {
			t.Errorf("size %d: %d MiB more are in use", size, grown>>20)
		}
		for range 2 {
			if why := g.refusal(surface.KindTool, "add"); !strings.Contains(why, "more of the server's tools drifted than") {
				t.Errorf("size %d: refused because %q", size, why)
			}
			if keep, _, _ := g.page(surface.KindTool, []rawItem{rawItem(addTool)}); keep[0] {
				t.Errorf("size %d: a tool is shown", size)
			}
			if why := g.refusal(surface.KindPrompt, "p"); why != "" {
				t.Errorf("size %d: the prompt is refused: %s", size, why)
			}
			g.replace(surface.KindTool, []rawItem{rawItem(addTool)}, nil) // changes nothing
		}
		if why := g.report().Failed[surface.KindTool]; why == "" {
			t.Error("the report says nothing")
		}
	}
	g := newSight(a, nil)
	var many []rawItem
	for i := range 3000 {
		many = append(many, fmt.Appendf(nil, `{"name":"%d%s","inputSchema":{}}`, i, strings.Repeat("x", maxName-20)))
	}
	g.replace(surface.KindTool, many, nil)
	if why := g.refusal(surface.KindTool, "add"); why == "" {
		t.Error("a listing with more drift than can be remembered")
	}
	g.replace(surface.KindTool, []rawItem{rawItem(addTool)}, nil)
	if why := g.refusal(surface.KindTool, "add"); why != "" || g.listed.size != 0 {
		t.Errorf("the next listing: %q, %d bytes", why, g.listed.size)
	}
}

// TestListingsAddUp: kinds that are listed one after another have one limit.
func TestListingsAddUp(t *testing.T) {
	g := newSight(Approved{}, nil)
	big := rawItem(strings.Repeat("x", maxListing/2+1)) // malformed, which is quick
	g.replace(surface.KindTool, []rawItem{big}, nil)
	g.replace(surface.KindPrompt, []rawItem{big}, nil)
	if g.failed[surface.KindTool] != "" || g.failed[surface.KindPrompt] == "" || len(g.listing.Prompts) != 0 {
		t.Errorf("failed %v", g.failed)
	}
	g.replace(surface.KindTool, nil, nil)
	g.replace(surface.KindPrompt, []rawItem{big}, nil)
	if g.failed[surface.KindPrompt] != "" {
		t.Errorf("failed %v", g.failed)
	}
}

// TestLongNames: what cannot be looked up is refused, also under another spelling.
func TestLongNames(t *testing.T) {
	long := "file:///" + strings.Repeat("./", maxName) + "a"
	for _, kind := range []surface.Kind{surface.KindTool, surface.KindResource, surface.KindTemplate} {
		for escape, name := range map[string]string{"": long, "\\u0041": strings.Repeat("\\u0041", maxName+1)} {
			naming := listings[map[surface.Kind]int{surface.KindTool: 0, surface.KindResource: 2, surface.KindTemplate: 3}[kind]].naming
			raw := rawItem(`{"` + naming + `":"` + name + `","inputSchema":{}}`)
			it, err := surface.NewItem(kind, raw)
			if err != nil {
				t.Fatal(err)
			}
			g := newSight(Approved{Items: map[string]digest.Digest{it.Key(): it.Digest}}, nil) // even approved
			g.replace(kind, []rawItem{raw}, nil)
			keep, drifted, _ := g.page(kind, []rawItem{raw})
			if keep[0] || len(drifted) != 1 || drifted[0].Reason != Malformed || len(drifted[0].Key) > 200 {
				t.Errorf("%s %q: shown %v", kind, escape, keep[0])
			}
			if g.refusal(kind, it.Name) == "" || kind == surface.KindResource && g.uriRefusal(it.Name, true) == "" {
				t.Errorf("%s %q: not refused", kind, escape)
			}
			if why := g.uriRefusal("file:///a", true); (why == "") != (kind == surface.KindTool) {
				t.Errorf("%s %q: another URI: %q", kind, escape, why)
			}
		}
	}
	g := newSight(Approved{}, nil)
	if at := g.items(surface.KindTool, []rawItem{rawItem(`{"name":"` + long + `"}`), rawItem(`{"name":"` + long + `"}`)}); at[0].drift.Reason != Duplicate {
		t.Errorf("twice the same long name: %v", at[0].drift)
	}
}

// TestLongIDs: an id beyond the bound is refused in either direction.
func TestLongIDs(t *testing.T) {
	long := strings.Repeat("i", jsonrpc.MaxID)
	p, log := startPeer(t, base(addTool).
		set("x", []string{`{"jsonrpc":"2.0","id":"` + long + `","method":"roots/list"}`, `{"jsonrpc":"2.0","id":{},"method":"roots/list"}`, `{"jsonrpc":"2.0","method":"end"}`}).
		set("tools/call", []string{result(`{"task":{"taskId":"` + long + `x"}}`)}, []string{result(`{"task":{"taskId":"T"}}`)}), nil)
	c := relayTo(t, p, Options{Approved: approve(t, "tool", addTool)})
	c.shake()
	c.send(`{"jsonrpc":"2.0","id":"` + long + `","method":"x"}`)
	c.wantError("null", jsonrpc.CodeRequest, "the id")
	c.send(`{"jsonrpc":"2.0","method":"x"}`)
	c.want(`{"jsonrpc":"2.0","method":"end"}`)
	task := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","task":{}}}`
	c.send(task)
	c.wantError("1", jsonrpc.CodeInternal, "the id of its task")
	c.send(task)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"T"}}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"` + long + `x"}}`)
	c.wantError("2", jsonrpc.CodeParams, "taskId")
	c.send(callTool("3", strings.Repeat("n", maxName+1)))
	c.wantError("3", jsonrpc.CodeParams, "params.name")
	if got, _ := os.ReadFile(log); strings.Contains(string(got), long) {
		t.Error("the server got a long id")
	}
}

// TestTooManyTasks: a task that is not remembered gives no result.
func TestTooManyTasks(t *testing.T) {
	r := newRelay(t.Context(), newSink(io.Discard, false), &Process{}, Options{})
	s := session{relay: r}
	made := func(id, tool string) error {
		line := []byte(`{"result":{"task":{"taskId":"` + id + `"}}}`)
		m, err := s.s.Message(line, 0)
		if err != nil {
			t.Fatal(err)
		}
		return s.taskMade(line, &m, &request{tool: tool})
	}
	for i := range maxSeen {
		if err := made(fmt.Sprint(i), "add"); err != nil {
			t.Fatal(err)
		}
	}
	if why := r.itemReason(&call{taskID: "other"}); why != "" || made("0", "add") != nil || made("0", "mul") == nil {
		t.Errorf("refused because %q, or the task of another tool was taken over", why)
	}
	if made("more", "add") == nil || r.itemReason(&call{taskID: "more"}) == "" || r.itemReason(&call{taskID: "other"}) == "" {
		t.Error("a task that is not remembered")
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
