//go:build race

package fleetmodel

// The race detector makes a schedule ten times as slow.
const (
	checks = 80
	enough = 1
)
