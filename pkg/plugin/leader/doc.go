// Package leader makes one cluster follow another one, its leader, and ends that: the steps of
// `kubectl upgrade follow`.
//
// It promises three things. Each step may be run again: what is there already stays, and only the
// token is new. What it did not make it leaves alone: a Secret or a gate of that name is an error. And
// the token is written into the Secret and nowhere else.
//
// In the leader the follower is a ServiceAccount that may read one UpgradePolicy and one Lease. Its name
// is made of the follower's UID, so that a context's name, which each person chooses, does not matter.
package leader
