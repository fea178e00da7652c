// Package watch does what Cluster API does not ask for: it takes back what was asked for machines that
// are deleted or no longer updated, and has Cluster API ask again when an answer has changed.
package watch
