package obtain

import (
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/policy"
)

// inquiry is the evidence about one archive, in the order in which it was found. Each judgement is
// about all of it so far, so that a refusal shows everything that was known by then.
type inquiry struct {
	settings policy.Settings
	of       evidence.Entry
	report   evidence.Report
}

// add adds evidence that a later judgement is about.
func (q *inquiry) add(more ...evidence.Evidence) { q.report = append(q.report, more...) }

// settle adds what is owed and is not answered by the evidence so far.
func (q *inquiry) settle(expected owed.List) { q.report = expected.Settle(q.report) }

// judge adds evidence and decides about all of it so far.
func (q *inquiry) judge(more ...evidence.Evidence) (policy.Admitted, error) {
	q.add(more...)
	q.report.About(q.of)
	v := policy.Judge(policy.Install, q.settings, q.report)
	return v.Admitted(), v.Err()
}
