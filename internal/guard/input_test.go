package guard

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

const statelessMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

// TestInput: what an answer asks of the client is treated like a request of the server.
func TestInput(t *testing.T) {
	const (
		asks = `{"resultType":"input_required","inputRequests":{"1":{"method":"sampling/createMessage",` +
			`"params":{"secret":1}},"2":{"method":"roots/list"}},"requestState":"s"}`
		busy  = `{"resultType":"input_required","inputRequests":{},"requestState":"s"}`
		plain = `{"content":[]}`
	)
	toURL := `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32042.0,"message":"go to",` +
		`"data":{"elicitations":[{"url":"https://evil.example.com"}]}}}`
	for _, x := range []struct {
		name, answer string
		asks         bool
		why          string // with deny
		audit        string
	}{
		{"nothing", result(plain), false, "", ""},
		{"busy", result(busy), false, "", ""},
		{"input", result(asks), true, "requests by the server are denied", "sampling/createMessage"},
		{"two members", result(strings.Replace(asks, `"requestState"`, `"INPUTREQUESTS"`, 1)), true, "letter case", ""},
		{"not an object", result(`{"inputRequests":[1]}`), true, "not an object", ""},
		{"URL", toURL, true, "requests by the server are denied", "elicitation/create"},
		{"other error", strings.Replace(toURL, "-32042.0", "-32602", 1), false, "", ""},
	} {
		for _, mode := range []string{RequestsAllow, RequestsLog, RequestsDeny} {
			p, _ := startPeer(t, base(addTool).Set("tools/call", []string{x.answer}), nil)
			c := relayTo(t, p, Options{Approved: approve(t, "tool", addTool), ServerRequests: mode})
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":` + statelessMeta +
				`}}`)
			if x.asks && (mode == RequestsDeny || mode == RequestsLog && x.audit == "") {
				c.wantError("1", jsonrpc.CodeInternal, x.why)
			} else {
				c.want(strings.Replace(x.answer, "$ID", "1", 1))
			}
			log := c.audit.String()
			if got := x.audit != "" && strings.Contains(log, x.audit); got != (x.audit != "" &&
				mode != RequestsAllow) ||
				strings.Contains(log, "secret") {
				t.Errorf("%s, %s: log %q", x.name, mode, log)
			}
		}
	}
}

// TestSubscriptions: a subscription names resources as a read does.
func TestSubscriptions(t *testing.T) {
	const note = `{"uri":"mem://note","name":"note"}`
	r := base(addTool).
		Set("server/discover", []string{result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},` +
			`"resources":{}}}`)}).
		Set("resources/list", []string{result(`{"resources":[` + note + `,{"uri":"mem://new","name":"new"}]}`)}).
		Set("resources/templates/list", []string{result(`{"resourceTemplates":[]}`)}).
		Set("subscriptions/listen", []string{`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`})
	p, _ := startPeer(t, r, nil)
	c := relayTo(t, p, Options{Approved: approve(t, "tool", addTool, "resource", note)})
	c.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":` + statelessMeta + `}}`)
	c.next()
	listen := func(id, notifications string) {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` +
			notifications + `,"_meta":` + statelessMeta + `}}`)
	}
	listen("1", `{"resourceSubscriptions":["mem://note","mem://new"]}`)
	c.wantError("1", jsonrpc.CodeWithheld, "resource mem://new: new, never approved; run 'hallmark review srv'")
	for id, bad := range map[string]string{"2": `[]`, "3": `{"resourceSubscriptions":"mem://new"}`,
		"4": `{"resourceSubscriptions":[7]}`,
		"5": `{"resourceSubscriptions":[],"ResourceSubscriptions":["mem://new"]}`} {
		listen(id, bad)
		c.wantError(id, jsonrpc.CodeParams, "params.notifications")
	}
	for id, good := range map[string]string{"6": `{"toolsListChanged":true}`,
		"7": `{"resourceSubscriptions":["mem://note"]}`, "8": `null`} {
		listen(id, good)
		c.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`)
	}
}

// TestStatelessListings: each listing is judged, whatever the guard saw before, and so is
// each introduction.
func TestStatelessListings(t *testing.T) {
	evil := strings.Replace(addTool, "Adds.", "Evil.", 1)
	hello := func(instructions string) []string {
		return []string{result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}` + instructions + `}`)}
	}
	r := base().Set("server/discover", hello(""), hello(`,"instructions":"Evil."`)).
		Set("tools/list", []string{tools(addTool, mulTool)}, []string{tools(addTool, mulTool)},
			[]string{tools(evil, mulTool)})
	p, _ := startPeer(t, r, nil)
	c := relayTo(t, p, Options{Approved: approve(t, "tool", addTool, "tool", mulTool)})
	ask := func(id, method, params string) {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `"_meta":` +
			statelessMeta + `}}`)
	}
	ask("0", "server/discover", "")
	c.next()
	ask("1", "tools/call", `"name":"add",`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	ask("2", "tools/list", "")
	c.want(`{"jsonrpc":"2.0","id":2,"result":{"tools":[` + addTool + `,` + mulTool + `]}}`)
	ask("3", "tools/list", "")
	c.want(`{"jsonrpc":"2.0","id":3,"result":{"tools":[` + mulTool + `]}}`)
	ask("4", "tools/call", `"name":"add",`)
	c.wantError("4", jsonrpc.CodeWithheld, Changed)
	ask("5", "tools/call", `"name":"mul",`)
	c.want(`{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`)
	ask("6", "server/discover", "")
	c.want(`{"jsonrpc":"2.0","id":6,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`)
}
