package app

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
)

// FetchFlags limit what is fetched, for publishers and registries alike.
type FetchFlags struct {
	bytes                    Mebibytes
	time                     time.Duration
	redirects, files, atOnce int
	wait                     time.Duration
}

// Register adds the flags to f.
func (l *FetchFlags) Register(f *pflag.FlagSet) {
	d := fetch.DefaultLimits()
	MebibytesVar(f, &l.bytes, "max-file-bytes", Bounds[Mebibytes]{Default: Mebibytes(d.FileSize >> 20), Least: 1},
		"`MiB` of one file of a package")
	durationVar(f, &l.time, "max-file-time", Bounds[time.Duration]{d.FileTime, time.Second, 24 * time.Hour},
		"`time` to fetch one file, all attempts included")
	IntVar(f, &l.redirects, "max-redirects", Bounds[int]{d.Redirects, 0, 50}, "redirects of one request; 0 is none")
	IntVar(f, &l.files, "max-files", Bounds[int]{d.DocumentFiles, 1, document.MaxFiles},
		"files that one document may name")
	IntVar(f, &l.atOnce, "max-files-at-once", Bounds[int]{d.DocumentAtOnce, 1, document.MaxFiles},
		"files of one document that are fetched at once")
}

// RegisterWait adds --wait to f, for authors, who fetch what they have just published.
func (l *FetchFlags) RegisterWait(f *pflag.FlagSet) {
	durationVar(f, &l.wait, "wait", Bounds[time.Duration]{0, 0, 24 * time.Hour},
		"`time` to ask again for a version that is not there yet, such as 10m")
}

// Of returns limits with the values of the flags.
func (l *FetchFlags) Of() (limits fetch.Limits) {
	l.Set(&limits)
	return limits
}

// Set sets limits to the values of the flags. A client for one document at a time also gets
// Parallel from them.
func (l *FetchFlags) Set(limits *fetch.Limits) {
	limits.FileSize, limits.FileTime, limits.DocumentFiles = l.bytes.Bytes(), l.time, l.files
	limits.DocumentAtOnce, limits.Parallel, limits.Wait = l.atOnce, l.atOnce, l.wait
	if limits.Redirects = l.redirects; l.redirects == 0 {
		limits.Redirects = -1 // none
	}
}

// NetworkFlags set how the commands of a registry reach other machines.
type NetworkFlags struct{ dns, authorities string }

// Register adds the flags to f.
func (n *NetworkFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&n.dns, "dns-server", "", "`host:port` of the DNS server to ask instead of the system's")
	f.StringVar(&n.authorities, "ca-file", "", "PEM `file` with authorities to trust besides the system's")
}

// Set makes this process use the flags' DNS server, in packages and databases too, and returns the
// authorities; nil means the system's.
func (n *NetworkFlags) Set() (*x509.CertPool, error) {
	if server := n.dns; server != "" {
		net.DefaultResolver = &net.Resolver{PreferGo: true,
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, server)
			}}
	}
	if n.authorities == "" {
		return nil, nil
	}
	return readRoots(n.authorities)
}

// readRoots returns the system's authorities and those of a file.
func readRoots(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, evidence.Errorf(evidence.Operation, "", "", err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, evidence.Errorf(evidence.Validation, file, "", errors.New("no certificate in PEM"))
	}
	return pool, nil
}
