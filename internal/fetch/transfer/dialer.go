package transfer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// addressError says that an address may not be connected to.
type addressError struct {
	host string
	err  error
}

func (e *addressError) Error() string {
	return fmt.Sprintf("connection to %s refused: %s", wire.Plain(e.host, 255), e.err)
}

func (e *addressError) Unwrap() error { return e.err }

// Dialer returns the function that an [http.Transport] dials with. It asks allow, which is
// [Route].AllowAddr, about each address at the moment of connecting, so that no second
// resolution can give another address. Nil allows all, but a name of this machine, such as
// localhost, has an address of it in any case: plain http may be spoken there.
func Dialer(allow func(string, netip.Addr) error) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
		d.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(resolved)
			if err == nil {
				err = checkAddress(host, to.Addr(), allow)
			}
			if err != nil {
				return &addressError{host, err}
			}
			return nil
		}
		return d.DialContext(ctx, network, address)
	}
}

var errNotLoopback = errors.New("that name is not of this machine here; name the registry by 127.0.0.1 or [::1]")

// checkAddress returns why an address of host may not be connected to, or nil.
func checkAddress(host string, to netip.Addr, allow func(string, netip.Addr) error) error {
	if isLoopback(host) && !to.Unmap().IsLoopback() {
		return errNotLoopback
	}
	if allow == nil {
		return nil
	}
	return allow(host, to)
}
