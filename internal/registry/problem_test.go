package registry_test

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

func ExampleProblem() {
	p := &registry.Problem{Title: "Unprocessable Entity", Status: 422, Detail: "1 of 3 file hashes did not match",
		Failure: registry.HashFailed,
		Details: map[string]registry.HashFailure{
			"npm:@example/server@1.0.0": {Expected: "sha256:9c1e", Actual: "sha256:41d0",
				Status: registry.HashMismatch}}}
	fmt.Println(p)
	// Output:
	// 422 Unprocessable Entity: 1 of 3 file hashes did not match
	//   npm:@example/server@1.0.0: mismatch
	//     expected sha256:9c1e
	//     actual   sha256:41d0
}
