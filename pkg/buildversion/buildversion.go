// Package buildversion finds out which version of a program runs.
package buildversion

import "runtime/debug"

// Or returns linked, which the linker sets (-X main.version=…). If that is empty, it
// returns the module's version if `go install` built the program, or "unknown".
func Or(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
