package userconfig

import (
	"cmp"
	"crypto/x509"
	"fmt"
)

// authorities returns a function that adds the certificates in a tool's files to the
// system's; nil if paths names no file.
func authorities(tool string, paths ...string) func() (*x509.CertPool, error) {
	if cmp.Or(paths...) == "" {
		return nil
	}
	return func() (*x509.CertPool, error) { return readAuthorities(tool, paths) }
}

// readAuthorities reads the files of authorities; nil if there are no certificates in them. It
// skips files that do not exist.
func readAuthorities(tool string, paths []string) (*x509.CertPool, error) {
	var pool *x509.CertPool
	for _, path := range paths {
		if path == "" {
			continue
		}
		pem, err := readRegular(path, 8<<20) // a checkout may have named it
		if err != nil {
			return nil, fmt.Errorf("%s certificate authorities: %w", tool, err)
		}
		if pem == "" {
			continue
		}
		if pool == nil {
			if pool, err = x509.SystemCertPool(); err != nil {
				pool = x509.NewCertPool()
			}
		}
		if !pool.AppendCertsFromPEM([]byte(pem)) {
			return nil, fmt.Errorf("%s certificate authorities: %s holds no certificate", tool, path)
		}
	}
	return pool, nil
}
