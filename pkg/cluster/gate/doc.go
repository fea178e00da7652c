// Package gate asks the gates of the UpgradePolicy.
//
// It promises that a gate is Open only after an answer that says so: whatever cannot be read, takes
// too long, is too large, or is incomplete leaves it Unknown, which counts as closed. Gates are asked
// side by side, every ten seconds while an upgrade is active and never otherwise. No message
// contains a Secret.
package gate
