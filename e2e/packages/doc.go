// Package packages takes packages and images from where they are published through hash-gen, publish, pin and check:
// real ones from public registries, those of a mirror that has faults, and images from a registry that the tests
// start. TestPackages, TestReleases and TestNanotar need the network.
package packages
