package project

import (
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// kindImage is an OCI image, by the digest of its manifest or index.
var kindImage = serverKind{
	name: KindImage, title: "an image", pulled: true,
	declared: func(_ Server, t launcher.Target) bool {
		return t.Opaque == "" && t.Wrapper == "" && len(t.Packages) == 1 && t.Packages[0].Repository() != ""
	},
	whyOther: whyOtherImage,
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
		in:        func(s ServerLock) bool { return s.Image != "" || !s.Digest.IsZero() || s.Platforms != nil },
		misplaced: "is no image, and has one",
	},
}

// whyOtherImage compares the repository and the digest. Of an image that is declared by its tag the entry must say so:
// without it nobody would learn where the tag leads now.
func whyOtherImage(_ Server, t launcher.Target, s ServerLock) string {
	named := t.Packages[0]
	ref, err := artifact.Parse(s.Ref)
	if err != nil || ref.Name() != named.Repository() ||
		named.Pinned() && !evidence.Same(ref.Digest(), named.Ref.Digest()) {
		return whyUnnamed(false, named, s)
	}
	if want := named.Repository() + ":" + named.Tag(); !named.Pinned() && s.Image != want {
		return fmt.Sprintf("it names the image by the tag %s, and the entry %+q", want, s.Image)
	}
	return ""
}
