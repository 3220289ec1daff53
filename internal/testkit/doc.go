// Package testkit gives tests the real servers: NATS in this process, with the
// configuration that package deploy generates, and an S3 store in a child
// process. A test that needs one fails when it cannot be had; none is skipped.
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
//	server := testkit.NATS(t)        // FLEET, two tenants, streams
//	fleet := server.Fleet(t)         // as a coordinator
//	agents := server.Tenant(t, "a")  // as a tenant's user
//	store := testkit.Store(t)        // endpoint, keys, bucket; Kill, Restart
//
// Main turns the test binary into the store's process when it is started as one
// (the store changes its working folder, and one process holds one), and fails a
// run that leaves goroutines behind. Everything ends with its test.
//
// It belongs to tests alone, knows no worker and no coordinator (package
// fleettest puts those together), and keeps no state between tests.
package testkit
