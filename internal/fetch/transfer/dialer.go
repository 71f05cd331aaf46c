package transfer

import (
	"context"
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
// resolution can give another address. Nil allows all.
func Dialer(allow func(string, netip.Addr) error) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
		if allow != nil {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			d.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
				to, err := netip.ParseAddrPort(resolved)
				if err == nil {
					err = allow(host, to.Addr())
				}
				if err != nil {
					return &addressError{host, err}
				}
				return nil
			}
		}
		return d.DialContext(ctx, network, address)
	}
}
