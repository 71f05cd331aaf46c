package publish

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// What a proxy answers, or what is lost, is sent again, as a version is published once; what a registry decides is not, and
// neither is what it wants to be asked again later.
func TestSendAgain(t *testing.T) {
	later := registry.NewProblem(http.StatusServiceUnavailable, "a package cannot be reached")
	later.RetryAfter = 30 * time.Second
	for name, c := range map[string]struct {
		err  error
		sent int
	}{
		"502":      {registry.NewProblem(http.StatusBadGateway, ""), 3},
		"503":      {registry.NewProblem(http.StatusServiceUnavailable, ""), 3},
		"504":      {registry.NewProblem(http.StatusGatewayTimeout, ""), 3},
		"lost":     {io.ErrUnexpectedEOF, 3},
		"later":    {later, 1},
		"500":      {registry.NewProblem(http.StatusInternalServerError, ""), 1},
		"conflict": {registry.NewProblem(http.StatusConflict, ""), 1},
		"other":    {errors.New("no such host"), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			_, err := sendAgain(t.Context(), &host.Host{Logger: slog.New(slog.DiscardHandler)}, func() (*registry.Envelope, error) {
				sent++
				return nil, c.err
			})
			if sent != c.sent || !errors.Is(err, c.err) {
				t.Errorf("%s: sent %d times, want %d: %v", name, sent, c.sent, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sent := 0
		want := &registry.Envelope{}
		got, err := sendAgain(ctx, &host.Host{Logger: slog.New(slog.DiscardHandler)}, func() (*registry.Envelope, error) {
			if sent++; sent == 1 {
				return nil, io.EOF
			}
			return want, nil
		})
		if got != want || err != nil || sent != 2 {
			t.Errorf("%v after %d, %v", got, sent, err)
		}
		cancel()
		if _, err := sendAgain(ctx, &host.Host{Logger: slog.New(slog.DiscardHandler)}, func() (*registry.Envelope, error) {
			return nil, io.EOF
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	})
}
