package archive

import "io"

// Entry is one regular file of an archive.
type Entry struct {
	Path  string // passes CheckPath
	Size  int64  // bytes; the reader gives exactly as many or an error
	Exec  bool   // any execute permission is set; never in a canonical tar
	Outer bool   // of the outer layer of a Facet: build-manifest.json
}

// exactReader gives the next left bytes of r and then io.EOF, or the error short if r has
// fewer.
type exactReader struct {
	r     io.Reader
	left  int64
	short error
}

func (x *exactReader) Read(p []byte) (int, error) {
	if x.left == 0 {
		return 0, io.EOF
	}
	n, err := x.r.Read(p[:min(int64(len(p)), x.left)])
	x.left -= int64(n)
	if err == io.EOF {
		err = nil
		if x.left > 0 {
			err = x.short
		}
	}
	return n, err
}

// drain reads what the caller left.
func (x *exactReader) drain() error {
	_, err := io.Copy(io.Discard, x)
	return err
}

// Types of file in Unix permissions, and the permissions that are refused.
const (
	unixType      = 0o170000
	unixLink      = 0o120000
	unixRegular   = 0o100000
	unixDirectory = 0o040000
	unixSetID     = 0o007000 // set user, set group, sticky
)
