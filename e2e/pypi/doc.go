// Package pypi pins, runs and upgrades servers of the package index for Python, with uv and with pip. It needs the
// network.
package pypi
