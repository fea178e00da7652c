// Package doclinks tests that every link between pages of the repository points to an existing
// file and heading, and that each block of commands says whether a test runs it.
package doclinks
