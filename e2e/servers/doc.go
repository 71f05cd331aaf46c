// Package servers pins, runs and ends servers: real ones of package registries, with all that they depend on and in
// the runtimes that a server.json can name, and one that does not want to end. Most of it needs the network.
package servers
