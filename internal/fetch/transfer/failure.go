package transfer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// ErrTimeUp is the cause of a context that ends because a fetch has used up its time.
var ErrTimeUp = errors.New("time is up")

var errStalled = errors.New("no data for too long")

// Failure is what went wrong in one attempt.
type Failure struct {
	Cause  evidence.Cause
	Status int // HTTP, 0 if there was no reply
	Err    error
	Hint   string
	Retry  bool          // a further attempt may succeed
	After  time.Duration // the pause that the server asks for, 0 if none
}

// Error says what failed.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// NewRefusal returns the failure of what a rule of a transfer does not allow.
func NewRefusal(format string, args ...any) *Failure {
	return &Failure{Cause: evidence.Unsupported, Err: fmt.Errorf(format, args...)}
}

// ConnectionFailure turns the error of a connection into a failure, which says whether a
// further attempt may succeed.
func ConnectionFailure(err error) *Failure {
	f := &Failure{Cause: evidence.Unreachable, Err: err, Retry: true}
	var (
		address     *addressError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		dns         *net.DNSError
		operation   *net.OpError
		silent      *SilentError
	)
	// A publisher is not told this machine's address, nor the server that it asks for names.
	switch {
	case errors.As(err, &dns):
		clean := *dns
		clean.Server = ""
		f.Err = &clean
	case errors.As(err, &operation):
		clean := *operation
		clean.Source = nil
		f.Err = &clean
	}
	switch {
	case errors.As(err, &silent):
		f.Retry = false
	case errors.As(err, &address):
		f.Cause, f.Err, f.Retry = evidence.Unsupported, address, false
	case errors.As(err, &certificate):
		f.Retry = false
		f.Hint = "if this network has a certificate authority of its own, name it in SSL_CERT_FILE" +
			" (or for npm in cafile, for PyPI in PIP_CERT)"
	case errors.As(err, &record):
		f.Err, f.Retry = errors.New("the host does not speak TLS on this port"), false
	case errors.As(err, &dns) && dns.IsNotFound:
		f.Retry = false
	}
	return f
}

// statusFailure is the failure of a reply with another status than success.
func statusFailure(resp *http.Response) *Failure {
	f := &Failure{Cause: evidence.Unreachable, Status: resp.StatusCode, Err: StatusError(resp.StatusCode)}
	switch status := resp.StatusCode; {
	case status == http.StatusNotFound || status == http.StatusGone:
		f.Cause = evidence.NotFound
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.Hint = "it may be private: check the credentials for this host"
	case status == http.StatusTooManyRequests || status >= 500:
		f.Retry, f.After = true, parseRetryAfter(resp.Header, time.Now())
	}
	return f
}

// StatusError is the error of a reply with another status than success.
func StatusError(status int) error {
	if text := http.StatusText(status); text != "" {
		return fmt.Errorf("answered %d %s", status, text)
	}
	return fmt.Errorf("answered %d", status)
}
