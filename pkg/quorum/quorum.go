// Package quorum counts etcd's members. It is pure.
package quorum

// Majority returns how many of etcd's voting members have to be healthy for it to
// accept writes.
func Majority(members int) int { return members/2 + 1 }
