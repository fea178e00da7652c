// Package fleet is about several clusters, as `kubectl upgrade fleet` shows them: the file that
// names them, which contexts are meant, a row for each, and what they have run. (Package clusterstate is
// one cluster as values.)
//
// It promises values in, values out, and that what a cluster did not say is never taken for good: a
// cluster that did not answer has a row of its own, and counts as one that did not.
package fleet
