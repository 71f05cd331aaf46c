// Package plugins tests plugins with what their users have: Node in its versions, packages of npm, bundlers, and the
// host of npm/plugin-host and examples/plugin-host. Most of it needs the network, for npm. What can be tested without
// these is in the packages plugin and internal/plugins.
package plugins
