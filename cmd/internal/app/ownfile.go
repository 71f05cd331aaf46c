package app

import (
	"os"

	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// OwnFile returns the file by which clients start this program: what PATH has under its name, if that is this program,
// since package managers keep the link there when they move the program to the directory of another version. Otherwise
// it is the program's own file; "" if that is not known.
func OwnFile() string {
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	home, _ := os.UserHomeDir() // without one every directory above counts as the checkout's
	named, err := foreign.FindCheckout(".", home).Find(os.Getenv("PATH"), "hallmark")
	if err != nil || !host.SameFile(named, own) {
		return own
	}
	return named
}
