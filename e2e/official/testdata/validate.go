// Command validate serves the official registry's POST /v0/validate, handler and
// all, without its database. It is compiled as if it lay in the official module, so
// that it may import internal packages, and is told an address to listen on.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v0 "github.com/modelcontextprotocol/registry/internal/api/handlers/v0"
)

func main() {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("", "")
	config.CreateHooks = nil // as in its router
	v0.RegisterValidateEndpoint(humago.New(mux, config), "/v0")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, mux))
}
