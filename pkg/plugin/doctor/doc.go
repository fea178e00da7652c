// Package doctor says whether a cluster can be managed by kubectl-upgrade, and whether what is
// installed is well, from facts that a user can read: also before the installation.
//
// It promises:
//
//   - Every line has a level. One that is not ok has a fix; what cannot be known is said to be
//     unknown, and is never ok.
//   - It makes no check that pkg/cluster/preflight makes: findings of those become lines.
//   - No line contains a password: what may be one is removed from every text.
//
// The package is pure: values in, values out; the clock is an argument.
package doctor
