// Outside verifies a server.json, pins and runs a server of a project, and audits the log of a
// registry, with nothing but the public library.
//
//	outside SERVER.JSON PROJECT SERVER REGISTRY LOGKEY
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark"
)

const messages = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"outside","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}
`

func main() {
	ctx, document, dir, server := context.Background(), os.Args[1], os.Args[2], os.Args[3]
	verdict, err := hallmark.Verify(ctx, document, hallmark.VerifyOptions{RequireHashes: true})
	stop(err)
	for _, f := range verdict.Findings {
		fmt.Println("verify:", f.Evidence.Subject, f.Evidence.Scheme, f.Evidence.Outcome)
	}
	_, err = hallmark.Pin(ctx, dir, []string{server}, hallmark.PinOptions{
		Start: func(p *hallmark.Pinned) (bool, error) { return p.Entry.Launch.URL == "", nil },
		Confirm: func(p *hallmark.Pinned) (bool, error) {
			fmt.Printf("pin: %s shows %s", p.Name, p.Surface.Outline())
			return !p.Alarm, nil
		},
	})
	stop(err)
	stdin, client := io.Pipe()
	go io.WriteString(client, messages)
	code, err := hallmark.Run(ctx, dir, server, hallmark.RunOptions{Stdin: stdin, Stdout: answers{client}})
	stop(err)
	fmt.Println("run: exit code", code)
	audit, err := hallmark.Monitor(ctx, hallmark.MonitorOptions{URL: os.Args[4], LogKey: os.Args[5]})
	stop(err)
	fmt.Printf("monitor: %s: %d entries, %d records, %d anomalies\n", audit.Origin, audit.Size, audit.Records,
		len(audit.Anomalies))
}

// answers prints the answer of the tool, and then ends the conversation.
type answers struct{ client io.Closer }

func (a answers) Write(text []byte) (int, error) {
	if strings.Contains(string(text), `"id":2`) {
		fmt.Print("run: ", string(text))
		a.client.Close()
	}
	return len(text), nil
}

func stop(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
