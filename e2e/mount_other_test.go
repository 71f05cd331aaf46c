//go:build unix && !linux

package e2e

import "testing"

func mountSmall(t *testing.T, _, _ string) {
	t.Helper()
	t.Skip("small disks are mounted on Linux only")
}
