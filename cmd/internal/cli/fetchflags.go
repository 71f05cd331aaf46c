package cli

import (
	"context"
	"crypto/x509"
	"net"
	"time"

	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
)

// fetchFlags limit what is fetched, for publishers and registries alike.
type fetchFlags struct {
	bytes                    mebibytes
	time                     time.Duration
	redirects, files, atOnce int
}

func (l *fetchFlags) register(f *pflag.FlagSet) {
	d := fetch.DefaultLimits()
	mebibytesVar(f, &l.bytes, "max-file-bytes", mebibytes(d.FileSize>>20), 1, "`MiB` of one file of a package")
	durationVar(f, &l.time, "max-file-time", d.FileTime, time.Second, 24*time.Hour, "`time` to fetch one file, all attempts included")
	intVar(f, &l.redirects, "max-redirects", d.Redirects, 0, 50, "redirects of one request; 0 is none")
	intVar(f, &l.files, "max-files", d.DocumentFiles, 1, hallmark.MaxFiles, "files that one document may name")
	intVar(f, &l.atOnce, "max-files-at-once", d.DocumentAtOnce, 1, hallmark.MaxFiles, "files of one document that are fetched at once")
}

// of is limits as the flags have them.
func (l *fetchFlags) of() (limits fetch.Limits) {
	l.set(&limits)
	return limits
}

// set makes limits those of the flags. Of a client for one document at a time Parallel is
// theirs as well.
func (l *fetchFlags) set(limits *fetch.Limits) {
	limits.FileSize, limits.FileTime, limits.DocumentFiles = l.bytes.bytes(), l.time, l.files
	limits.DocumentAtOnce, limits.Parallel = l.atOnce, l.atOnce
	if limits.Redirects = l.redirects; l.redirects == 0 {
		limits.Redirects = -1 // none
	}
}

// networkFlags are how the commands of a registry reach others.
type networkFlags struct{ dns, authorities string }

func (n *networkFlags) register(f *pflag.FlagSet) {
	f.StringVar(&n.dns, "dns-server", "", "`host:port` of the DNS server to ask instead of the system's")
	f.StringVar(&n.authorities, "ca-file", "", "PEM `file` with authorities to trust besides the system's")
}

// set makes this process ask the DNS server, packages and databases included, and returns
// the authorities; nil are the system's.
func (n *networkFlags) set() (*x509.CertPool, error) {
	if server := n.dns; server != "" {
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server)
		}}
	}
	if n.authorities == "" {
		return nil, nil
	}
	return roots(n.authorities)
}
