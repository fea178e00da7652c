// Package memory measures the memory of the programs that run in a cluster, and keeps the
// agent from linking what it does not need.
package memory
