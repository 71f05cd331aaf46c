package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// registry starts a registry and waits until it says where it listens.
func (d *demo) registry(ctx context.Context) (url string, stop func(), err error) {
	d.title("A registry of our own")
	fmt.Println("$ hallmark registry serve --addr 127.0.0.1:0 --data registry --allow-anonymous &")
	cmd := exec.Command(filepath.Join(d.bin, "hallmark"), "registry", "serve", "--addr", "127.0.0.1:0", "--data",
		"registry", "--allow-anonymous")
	cmd.Dir, cmd.Env = d.dir, d.env
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := make(chan string, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := bufio.NewScanner(pipe)
		for s.Scan() {
			select {
			case lines <- s.Text():
			default:
			}
		}
		io.Copy(io.Discard, pipe)
	}()
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-done
		cmd.Wait()
	}
	re := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	key := regexp.MustCompile(`clients_pin="?([^ "]+)`)
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case line := <-lines:
			if m := key.FindStringSubmatch(line); m != nil {
				d.logKey = m[1]
			}
			if url = re.FindString(line); url != "" {
				fmt.Print(indent(strings.ReplaceAll(line, d.dir+"/", "")))
				return url, stop, nil
			}
		case <-done:
			return "", stop, errors.New("the registry ended")
		case <-timeout:
			return "", stop, errors.New("the registry did not start")
		}
	}
}
