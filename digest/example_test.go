package digest_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Verify a download while it is read. The last read fails if the bytes are not
// those that were promised, and a longer body is not read to its end.
func ExampleNewVerifier() {
	want, err := digest.Parse("sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{"hello", "hullo", "hello, world"} {
		_, err := io.ReadAll(digest.NewVerifier(strings.NewReader(body), want, 5))
		if mismatch, ok := errors.AsType[*digest.MismatchError](err); ok {
			fmt.Println("refused after", mismatch.GotSize, "bytes")
			continue
		}
		fmt.Println("verified", want.Algorithm(), err)
	}
	// Output:
	// verified sha256 <nil>
	// refused after 5 bytes
	// refused after 6 bytes
}

// Upper-case hex is read and lower-case hex is written. An algorithm that cannot be
// computed is told apart from text that is no digest at all.
func ExampleParse() {
	for _, text := range []string{
		"sha256:2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824",
		"blake3:af1349b9f5f9a1a6a0404dea36dcc949",
		"sha256:abcd",
	} {
		d, err := digest.Parse(text)
		unknown, ok := errors.AsType[*digest.UnknownAlgorithmError](err)
		switch {
		case ok:
			fmt.Println("cannot compute", unknown.Algorithm)
		case errors.Is(err, digest.ErrMalformed):
			fmt.Println("no digest")
		default:
			fmt.Println(d)
		}
	}
	// Output:
	// sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
	// cannot compute blake3
	// no digest
}

// Of a subresource-integrity string only the strongest algorithm counts.
func ExampleParseSRI() {
	digests, err := digest.ParseSRI("sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00= " +
		"sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=")
	fmt.Println(digests, err)
	// Output:
	// [sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824] <nil>
}

// One pass over the bytes gives the digest under each algorithm.
func ExampleHasher() {
	h := digest.NewHasher(digest.SHA256, digest.SHA1)
	if _, err := io.Copy(h, strings.NewReader("hello")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Size(), "bytes")
	for _, d := range h.Digests() {
		fmt.Println(d, d.Weak())
	}
	// Output:
	// 5 bytes
	// sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824 false
	// sha1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d true
}
