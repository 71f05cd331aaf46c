package client

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"testing"
)

// What leads on is said of a registry that does not answer, and of nothing else that ends a call.
func TestHintUnanswered(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		err  error
		hint bool
	}{
		{&url.Error{Op: "Post", Err: refused}, true},
		{&url.Error{Op: "Post", Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}, false},
		{&url.Error{Op: "Post", Err: errors.New("redirected to another host")}, false},
		{errors.New("the answer is not JSON"), false},
	} {
		if got := HintUnanswered(c.err); (got != "") != c.hint {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}
