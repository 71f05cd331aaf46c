//go:build unix

package hashfile

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// TestSilentRoots: calls wait once for a client that offers roots and does not answer, and then are refused at once
// until it answers after all, or notifies of a change.
func TestSilentRoots(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "text\n")
	for _, capabilities := range []string{`{"roots":{}}`, `{"roots":{"listChanged":true}}`} {
		t.Run(capabilities, func(t *testing.T) {
			t.Parallel()
			const wait = 500 * time.Millisecond
			p := connectRaw(t, Config{RootsWait: wait}, capabilities)
			p.silent()
			refused := func() {
				t.Helper()
				p.read(path).refused("outside_roots").says("did not answer within")
			}
			waits := func() {
				t.Helper()
				begun := time.Now()
				refused()
				if took := time.Since(begun); took < wait {
					t.Errorf("refused after %s", took)
				}
			}
			atOnce := func() { // so many would take far too long if they waited
				t.Helper()
				hang.Ends(t, "calls that need not wait", func() {
					for range 2 * hang.Long / wait {
						refused()
					}
				})
			}
			waits()
			atOnce()
			p.changed()
			waits()
			atOnce()
			p.lists(d) // to what it is asked from now on
			hang.Until(t, "the client is asked again", func() bool {
				return p.read(path).Error == ""
			})
			// Of a client that is late, the answer counts: to one that notifies it is the newest, and the other is waited
			// for again.
			p = connectRaw(t, Config{RootsWait: wait}, capabilities)
			asked := p.defers()
			waits()
			p.lists(d)
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file://%s"}]}}`, <-asked, d))
			p.read(path).ok()
		})
	}
}

// TestManyRoots: a refusal says that not all of very many roots count.
func TestManyRoots(t *testing.T) {
	d := dir(t)
	path := write(t, d, "last/f", "text\n")
	var all []string
	for i := range 256 {
		all = append(all, filepath.Join(d, "none", strconv.Itoa(i)))
	}
	p := connectRaw(t, Config{Roots: []string{d}}, `{"roots":{}}`)
	p.lists(append([]string{filepath.Join(d, "last")}, all...)...)
	p.read(path).ok()
	p.read(d + "/other").refused("outside_roots").says("only the first 256 count")
}
