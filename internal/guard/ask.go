package guard

import (
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/guard/listing"
)

// ask sends a request of the guard's own. Its id holds a nonce, so that the server
// cannot answer what it was not asked.
func (r *relay) ask(ctx context.Context, method string, params []byte) (listing.Answer, error) {
	r.mu.Lock()
	r.asked++
	id := fmt.Sprintf("hallmark-%s-%d", r.nonce, r.asked)
	r.asks++
	q := &request{what: askGuard, answer: make(chan listing.Answer, 1), turn: r.asks}
	r.pending["s"+id] = q
	r.mu.Unlock()
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`+"\n", id, method, params)
	err := r.server.WriteAll(line)
	if err == nil {
		select {
		case a := <-q.answer:
			return a, nil
		case <-ctx.Done():
			err = fmt.Errorf("%s: no answer", method)
		case <-r.p.Exited():
			err = fmt.Errorf("%s: the server ended", method)
		}
	} else {
		err = fmt.Errorf("%s: %w", method, err)
	}
	r.mu.Lock()
	delete(r.pending, "s"+id)
	r.mu.Unlock()
	return listing.Answer{}, err
}
