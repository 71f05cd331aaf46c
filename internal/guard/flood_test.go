package guard

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

// TestHugeNames: a server that shows a new tool with a huge name in every listing
// does not fill memory.
func TestHugeNames(t *testing.T) {
	if testing.Short() {
		t.Skip("moves much data through the goroutines of other relays")
	}
	p := startSelf(t, "flood")
	c := relayTo(t, p, Options{Observed: func(Report) {}})
	c.shake()
	c.send(callTool("1", "x"))
	c.wantError("1", jsonrpc.CodeWithheld, "never approved")
	before := heap()
	for range 5 {
		c.send(listTools)
		c.want(`{"jsonrpc":"2.0","id":"list","result":{"tools":[]}}`)
	}
	const most = 48 << 20 // one line, one listing, and little else
	hang.Until(t, "no more memory is in use", func() bool { return heap()-before <= most })
	if !strings.Contains(c.notes.String(), Malformed) || len(c.notes.String()) > 10_000 {
		t.Errorf("notes of %d bytes", len(c.notes.String()))
	}
}

// TestLongIDs: an id beyond the bound is refused in either direction.
func TestLongIDs(t *testing.T) {
	long := strings.Repeat("i", jsonrpc.MaxID)
	p, log := startPeer(t, base(addTool).
		Set("x", []string{`{"jsonrpc":"2.0","id":"` + long + `","method":"roots/list"}`,
			`{"jsonrpc":"2.0","id":{},"method":"roots/list"}`, `{"jsonrpc":"2.0","method":"end"}`}).
		Set("tools/call", []string{result(`{"task":{"taskId":"` + long + `x"}}`)},
			[]string{result(`{"task":{"taskId":"T"}}`)}), nil)
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
	c.send(callTool("3", strings.Repeat("n", jsonrpc.MaxName+1)))
	c.wantError("3", jsonrpc.CodeParams, "params.name")
	if got, _ := os.ReadFile(log); strings.Contains(string(got), long) {
		t.Error("the server got a long id")
	}
}

// TestTooManyTasks: a task that is not remembered gives no result.
func TestTooManyTasks(t *testing.T) {
	r := newRelay(t.Context(), process.NewSink(io.Discard, false), &process.Process{}, Options{})
	s := session{relay: r}
	made := func(id, tool string) error {
		line := []byte(`{"result":{"task":{"taskId":"` + id + `"}}}`)
		m, err := s.s.Message(line, 0)
		if err != nil {
			t.Fatal(err)
		}
		return s.rememberTask(line, &m, &request{tool: tool})
	}
	for i := range jsonrpc.MaxEntries {
		if err := made(fmt.Sprint(i), "add"); err != nil {
			t.Fatal(err)
		}
	}
	if why := r.refuseCall(&call{taskID: "other"}); why != "" || made("0", "add") != nil || made("0", "mul") == nil {
		t.Errorf("refused because %q, or the task of another tool was taken over", why)
	}
	if made("more", "add") == nil || r.refuseCall(&call{taskID: "more"}) == "" ||
		r.refuseCall(&call{taskID: "other"}) == "" {
		t.Error("a task that is not remembered")
	}
}
