package project

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// kindImage is an OCI image, by the digest of its manifest or index.
var kindImage = serverKind{
	name: KindImage, title: "an image",
	checkRef: func(s ServerLock) error {
		ref, err := artifact.Parse(s.Ref)
		if err != nil || ref.Kind() != artifact.OCI ||
			!evidence.Same(ref.Digest(), s.Digest) || !evidence.Same(s.Artifacts[s.Ref], s.Digest) {
			return fmt.Errorf("ref %+q is not the image with its digest", s.Ref)
		}
		return nil
	},
	checkEntry: func(s ServerLock) error {
		if s.Entry != "" || s.Closure != nil {
			return errors.New("an image has neither entry nor closure")
		}
		return nil
	},
	own: &ownMembers{
		in:    func(s ServerLock) bool { return s.Image != "" || !s.Digest.IsZero() || s.Platforms != nil },
		stray: "is no image, and has one",
	},
}
