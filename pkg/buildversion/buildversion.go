// Package buildversion says which version of a program runs.
//
// It promises a word in any case: what the linker was told, the module's version
// where `go install` built the program, or "unknown".
package buildversion

import "runtime/debug"

// Or is linked, what the linker put into the program (-X main.version=…), or what
// the build knows of itself where that is empty.
func Or(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
