//go:build unix && !linux

package durable

import "testing"

func mount(t *testing.T, _, _ string) { t.Skip("needs Linux") }

func remountReadOnly(t *testing.T, _ string) { t.Skip("needs Linux") }
