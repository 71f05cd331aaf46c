// Package editing tests the program hashfile-mcp: with the clients of the official SDKs and of the Inspector, beside
// the reference filesystem server, and by hand where it is ended while it works. The clients and that server are
// installed from the network.
package editing
