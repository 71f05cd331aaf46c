// Command request sends one HTTP request, for scripts:
//
//	request METHOD URL [FILE]
//
// FILE is the body, as JSON. The answer's body goes to standard output, its status and
// content type to standard error. The exit code is 0 whatever the status.
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	args := os.Args[1:]
	if len(args) < 2 || len(args) > 3 {
		die(errors.New("usage: request METHOD URL [FILE]"))
	}
	var body io.Reader
	if len(args) == 3 {
		f, err := os.Open(args[2])
		check(err)
		defer f.Close()
		body = f
	}
	r, err := http.NewRequest(args[0], args[1], body)
	check(err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Timeout: 60 * time.Second}).Do(r)
	check(err)
	defer resp.Body.Close()
	fmt.Fprintf(os.Stderr, "%d\n%s\n", resp.StatusCode, resp.Header.Get("Content-Type"))
	_, err = io.Copy(os.Stdout, resp.Body)
	check(err)
}

func die(err error) {
	fmt.Fprintln(os.Stderr, "request:", err)
	os.Exit(99)
}

func check(err error) {
	if err != nil {
		die(err)
	}
}
