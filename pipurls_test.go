//go:build unix

package hallmark
