// Package doclinks has a test alone: every link between pages of the repository
// leads to a file, and to a heading where it names one.
package doclinks
