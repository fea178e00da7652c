// Package nodefacts finds on a node what preflight has to know of it.
//
// The promise: it only looks. A file that is missing, unreadable or of an
// unusual kind never keeps the other facts from being found; the fact that it
// would have told stays out, and a sentence among the problems says so. The
// same files give the same facts, in the same order, in a few milliseconds.
package nodefacts
