// Package preflight finds problems with an upgrade before it begins.
//
// It promises that each finding has an id that does not change, a level, the
// object it is about, what is wrong and what to do; that what could not be read
// is a finding and never silence; and that equal facts give equal findings in
// the same order.
//
// It is pure: facts in, findings out.
package preflight
