package installed

import (
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// placedFile is a file of a facet in the project, as the lock has it.
type placedFile struct {
	of      string        // the facet: "NAME@VERSION"
	target  string        //
	sum     digest.Digest // zero if it follows from the contents, which are not here
	asset   digest.Digest // of the member it comes from
	picked  bool          // whether it is to be there
	less    bool          // it lacks members of the front matter that the member has
	skill   string        // the directory of the skill that it is in; "" for others
	present bool
	now     digest.Digest
	written bool // it is what this machine installed last, of a former entry if it is not as the lock has it
}

// evidence says whether the file at a path is the locked one.
func (f *placedFile) evidence(path string) evidence.Report {
	c := evidence.Claim{Subject: path, Scheme: evidence.Installed, Authority: evidence.Lock,
		Where: project.LockFile + ", " + f.of}
	o := evidence.Observed{From: path}
	if f.now.IsZero() {
		o.Text = "no regular file"
	} else {
		o.Digests = []digest.Digest{f.now}
	}
	switch {
	case !f.present && f.picked:
		return evidence.Report{evidence.Miss(c, evidence.Lock, "the rest of "+f.of+" is installed here",
			"run 'hallmark install --frozen', which puts it back")}
	case !f.present:
		return nil
	case f.written && !f.sum.IsZero() && !evidence.Same(f.sum, f.now):
		// The lock has changed since, as when somebody else's is pulled; nobody touched the file.
		return evidence.Report{evidence.Miss(c, evidence.Lock, "what is installed here is what an earlier lock had",
			"run 'hallmark install --frozen', which puts the locked one there")}
	case f.sum.IsZero() && evidence.Same(f.asset, f.now):
		c.Want = []digest.Digest{f.asset}
		return evidence.Report{evidence.Compare(c, o)}
	case f.sum.IsZero():
		e := evidence.CannotVerify(c, evidence.NotFound,
			"the contents that it was made from are not in this machine's store")
		e.Fix = "run 'hallmark install --frozen' first"
		return evidence.Report{e}
	}
	c.Want = []digest.Digest{f.sum}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Match {
		e.Outcome, e.Cause, e.Reason = evidence.Mismatch, "",
			"is not as the lock has it; 'hallmark install --force' puts it back"
	}
	return evidence.Report{e}
}
