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

// A version that was taken back, or never was, has a hint; that of a dependency is not what the user named.
func TestNoVersionHint(t *testing.T) {
	for said, want := range map[string]bool{
		"npm error notarget No matching version found for notes@9.9.9.\n":                 true,
		"npm error notarget No matching version found for other@9.9.9.\n":                 false,
		"  cause: Because there is no version of notes==9.9.9 and you require notes==9.9": false,
	} {
		if got := noVersionHint("npm:notes@9.9.9", []byte(said)); (got != "") != want {
			t.Errorf("%s: %q", said, got)
		}
	}
	const uv = "  cause: Because there is no version of notes==9.9.9 and you require notes==9.9.9"
	if noVersionHint("pypi:notes==9.9.9", []byte(uv)) == "" {
		t.Error("uv has no hint")
	}
}
