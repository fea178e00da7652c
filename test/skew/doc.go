// Package skew runs every verb of the plugin against the former version's cluster, and the former plugin
// against today's: each works, or one line says what to update, and nothing that was asked for is lost without a
// word. `make test-skew` builds the former version and runs it.
package skew
