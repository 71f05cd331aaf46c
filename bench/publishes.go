package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// batch tells the names of one process' publishes from those of others.
var batch atomic.Int64

// publishes are requests to publish, three versions of each name.
func publishes(token string) (source, error) {
	var authorization string
	if token != "" {
		authorization = "Authorization: Bearer " + token + "\r\n"
	}
	mine, counter := batch.Add(1), new(atomic.Int64)
	// One document, in which names and versions are replaced: making each would take
	// processor time from what is measured.
	body, err := document(rand.New(rand.NewPCG(1, 1)), "io.modelcontextprotocol.anonymous/NAME", "VERSION")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.ReplaceAll(string(body), "VERSION", "\x00v\x00"), "\x00")
	var pieces []string // NAME and VERSION stand between others
	for _, p := range parts {
		for i, piece := range strings.Split(p, "NAME") {
			if i > 0 {
				pieces = append(pieces, "n")
			}
			pieces = append(pieces, piece)
		}
	}
	return func(c, _ int) []byte {
		n := counter.Add(1)
		name, version := fmt.Sprintf("bench-%d-%x", mine, n/3), "1.0."+strconv.FormatInt(n%3, 10)
		var b []byte
		for _, piece := range pieces {
			switch piece {
			case "n":
				b = append(b, name...)
			case "v":
				b = append(b, version...)
			default:
				b = append(b, piece...)
			}
		}
		return fmt.Appendf(nil,
			"POST /v0/publish HTTP/1.1\r\nHost: registry\r\nContent-Type: application/json\r\n"+
				"%sContent-Length: %d\r\n\r\n%s",
			authorization, len(b), b)
	}, nil
}

// anonymousToken logs in as nobody.
func anonymousToken(addr string) (string, error) {
	answer, err := http.Post("http://"+addr+"/v0/auth/none", "application/json", bytes.NewReader([]byte("{}")))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var body struct {
		Token string `json:"registry_token"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK || body.Token == "" {
		return "", fmt.Errorf("login: status %d", answer.StatusCode)
	}
	return body.Token, nil
}
