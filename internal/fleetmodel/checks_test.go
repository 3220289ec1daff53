//go:build !race

package fleetmodel

const (
	// checks is how many schedules TestPromises runs where -schedules does not say:
	// about 6 ms of one core each.
	checks = 2000
	// enough is how often TestACrashAtEveryStep wants each of them.
	enough = 3
)
