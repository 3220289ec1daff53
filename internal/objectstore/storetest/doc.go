// Package storetest is the conformance suite of object stores: what checkpoints
// rely on, as tests that run against each implementation. Of any concurrent
// creations of one key one succeeds; a listing is in order and begins behind its
// mark; what is not there is said so; an object is whole or absent.
//
// It starts goroutines only inside its tests, which wait for them.
package storetest
