//go:build race

package sim

// These are small: the race detector finds nothing in one goroutine, and makes it many times
// slower.
const (
	defaultSeeds  = 20
	defaultChains = 2
)
