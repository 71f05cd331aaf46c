// Command rehash is the reference of P4: it reads and hashes the files that
// standard input names, one a line, on all processors, and does nothing else.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

func main() {
	list, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rehash:", err)
		os.Exit(1)
	}
	files := strings.Split(strings.TrimSpace(string(list)), "\n")
	var (
		next, size atomic.Int64
		workers    sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				data, err := os.ReadFile(files[i])
				if err != nil {
					fmt.Fprintln(os.Stderr, "rehash:", err)
					os.Exit(1)
				}
				sha256.Sum256(data)
				size.Add(int64(len(data)))
			}
		})
	}
	workers.Wait()
	fmt.Println(size.Load())
}
