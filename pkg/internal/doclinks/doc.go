// Package doclinks tests that every link between pages of the repository points to an existing
// file and heading.
package doclinks
