// Package nodefacts finds on a node what preflight has to know of it.
//
// The promise: it only looks. A file that is missing, unreadable or of an
// unusual kind never keeps the other facts from being found; the fact that it
// would have told stays out, and a sentence among the problems says so. The
// same files give the same facts, in the same order, in a few milliseconds.
//
// Units are read by our own few lines and not by go-systemd's package unit, which
// does not read all that systemd does: it refuses a line of 2 KiB, where systemd
// takes one of 1 MiB and a kubelet's command line may be long; it gives up at a line
// without a "="; and it takes a comment within a continued line for a part of it.
// The same lines read the files that EnvironmentFile= names, which it does not read.
package nodefacts
