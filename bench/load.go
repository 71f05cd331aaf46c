package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// connections is how many requests are in flight. Each connection sends the next
// request when it has the answer, so that latencies belong to a server that is
// always 64 requests behind.
const connections = 64

// load is what one measurement gave.
type load struct {
	rate     float64 // answers a second
	p50, p99 float64 // milliseconds
	bytes    float64 // of a body, mean
}

// source gives the request number n of connection c, a complete HTTP/1.1 message.
type source func(c, n int) []byte

// cycle repeats requests, each connection from another place on.
func cycle(requests [][]byte) source {
	return func(c, n int) []byte { return requests[(c*len(requests)/connections+n)%len(requests)] }
}

// measure sends requests for as long as d. Every answer must be a success.
func measure(addr string, requests source, d time.Duration) (load, error) {
	var (
		wg        sync.WaitGroup
		mu        sync.Mutex
		latencies []float64
		total     int64
		failed    error
	)
	end := time.Now().Add(d)
	began := time.Now()
	for c := range connections {
		wg.Go(func() {
			mine, size, err := drive(addr, requests, c, end)
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, mine...)
			total += size
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	if failed != nil {
		return load{}, failed
	}
	n := len(latencies)
	if n == 0 {
		return load{}, errors.New("nothing was answered")
	}
	slices.Sort(latencies)
	return load{rate: float64(n) / took.Seconds(), p50: latencies[n/2], p99: latencies[n*99/100],
		bytes: float64(total) / float64(n)}, nil
}

// drive is one connection's work, of one request at least: the latencies in milliseconds and the bytes of the
// bodies.
func drive(addr string, requests source, c int, end time.Time) (latencies []float64, size int64, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 64<<10)
	latencies = make([]float64, 0, 4096)
	sent := time.Now()
	for n := 0; n == 0 || sent.Before(end); n++ {
		request := requests(c, n)
		if _, err := conn.Write(request); err != nil {
			return latencies, size, err
		}
		status, body, err := skip(r)
		if err != nil {
			return latencies, size, err
		}
		if status/100 != 2 {
			line, _, _ := bytes.Cut(request, []byte("\r\n"))
			return latencies, size, fmt.Errorf("%s: status %d", line, status)
		}
		size += body
		now := time.Now()
		latencies = append(latencies, float64(now.Sub(sent))/1e6)
		sent = now
	}
	return latencies, size, nil
}

// skip reads an answer and returns its status and the size of its body. It looks at
// as little as it can, as it shares the processors with what it measures.
func skip(r *bufio.Reader) (status int, size int64, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 {
		return 0, 0, fmt.Errorf("not HTTP: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	length, chunked := int64(0), false
	for {
		line, err = r.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		if len(line) <= 2 {
			break
		}
		switch {
		case line[0]|0x20 != 'c' && line[0]|0x20 != 't':
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			length, err = strconv.ParseInt(string(bytes.TrimSpace(line[16:])), 10, 64)
		case bytes.HasPrefix(line, []byte("Transfer-Encoding: chunked")):
			chunked = true
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if !chunked {
		_, err := r.Discard(int(length))
		return status, length, err
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return 0, 0, err
		}
		if _, err := r.Discard(int(n) + 2); err != nil {
			return 0, 0, err
		}
		if n == 0 {
			return status, size, nil
		}
		size += n
	}
}

// get is a request for path, of HTTP/1.1.
func get(path string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: registry\r\nAccept: application/json\r\n\r\n", path)
}

// fetch gets one answer.
func fetch(addr, path string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: registry\r\n\r\n", path); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	if !bytes.Contains(answer[:min(len(answer), 20)], []byte(" 200 ")) {
		return "", fmt.Errorf("%s: %.100s", path, answer)
	}
	_, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	return string(body), nil
}
