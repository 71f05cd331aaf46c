package closure

import (
	"testing"
)

// What npm says of its own code is left out, what it says of the failure stays.
func TestSpoken(t *testing.T) {
	const said = `npm error code ECONNREFUSED
npm error FetchError: request to http://npm.example.com/x failed, reason: connect ECONNREFUSED
npm error     at ClientRequest.emit (node:events:524:28)
npm error     at process.processTicksAndRejections (node:internal/process/task_queues:83:21) {
npm error   code: 'ECONNREFUSED',
npm error }
npm error
npm error 404  'x@1' is not in this registry.
`
	const want = `  npm: npm error code ECONNREFUSED
  npm: npm error FetchError: request to http://npm.example.com/x failed, reason: connect ECONNREFUSED
  npm: npm error 404  'x@1' is not in this registry.
`
	if got := OutputDetail("npm", []byte(said)); got != want {
		t.Errorf("got\n%s", got)
	}
	if unreachableHint([]byte(said)) == "" || unreachableHint([]byte("npm error code E404\n")) != "" {
		t.Error("the hint is not that of an unreachable registry")
	}
}
