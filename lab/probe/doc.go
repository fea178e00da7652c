// Package probe watches from outside whether something answers all the while,
// and says afterwards for how long it did not.
package probe
