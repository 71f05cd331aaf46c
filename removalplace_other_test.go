//go:build !linux

package hallmark

import "testing"

func quickPlace(*testing.T) {}
