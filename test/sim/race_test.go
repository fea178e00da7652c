//go:build race

package sim

// defaultSeeds is small: the race detector finds nothing in one goroutine, and makes it
// many times slower.
const defaultSeeds = 20
